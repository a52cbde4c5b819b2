# A server at each client of Nomad that has a name, as program of the Debian package on the machine itself (docs/cluster.md):
#   nomad job run container/cluster/nomad.hcl
job "container-mcp" {
  type = "system"
  constraint {
    attribute = "${meta.container_mcp}"
    operator  = "is_set"
  }
  update {                       # one after the other
    max_parallel     = 1
    min_healthy_time = "10s"
  }
  group "server" {
    network {
      port "mcp"     { static = 8000 }
      port "members" { static = 9100 }
    }
    task "container-mcp" {
      driver       = "raw_exec"
      user         = "container-mcp"
      kill_signal  = "SIGTERM"
      kill_timeout = "60s"
      config {
        command = "/usr/bin/container-mcp"
        args    = ["serve"]
      }
      env {
        SANDBOX_NODE      = "${meta.container_mcp}"
        CLUSTER_LISTEN    = "${NOMAD_IP_members}:9100"
        CONTAINER_MCP_ENV = "/etc/container-mcp/custom.env"
        XDG_DATA_HOME     = "/var/lib"
      }
      resources {
        cpu    = 2000
        memory = 4096
      }
      service {
        name     = "container-mcp"
        port     = "mcp"
        provider = "nomad"
        check {
          type     = "http"
          path     = "/healthz"
          interval = "2s"
          timeout  = "2s"
        }
      }
    }
  }
}
