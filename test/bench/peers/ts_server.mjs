// A minimal server on the TypeScript SDK, as its own examples do it: Streamable HTTP with sessions at /mcp and HTTP+SSE at
// /sse, one tool. Usage: node ts_server.mjs PORT
import { randomUUID } from 'node:crypto'
import express from 'express'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

function makeServer() {
  const server = new McpServer({ name: 'typescript-sdk', version: '1' })
  server.registerTool('echo', { description: 'Says hello' }, async () => ({ content: [{ type: 'text', text: 'hello' }] }))
  return server
}

const sessions = new Map()
const app = express()
app.use(express.json())

async function streamable(request, response) {
  let transport = sessions.get(request.headers['mcp-session-id'])
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    })
    await makeServer().connect(transport)
  }
  await transport.handleRequest(request, response, request.body)
}
app.post('/mcp', streamable)
app.get('/mcp', streamable)

app.get('/sse', async (request, response) => {
  const transport = new SSEServerTransport('/messages', response)
  sessions.set(transport.sessionId, transport)
  response.on('close', () => sessions.delete(transport.sessionId))
  await makeServer().connect(transport)
})
app.post('/messages', async (request, response) => {
  await sessions.get(request.query.sessionId).handlePostMessage(request, response, request.body)
})

app.listen(Number(process.argv[2]), '127.0.0.1')
