# The Debian package: `cpack -G DEB` in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME container-mcp)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Container-MCP developers <container-mcp@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "MCP server that runs bash and Python in a kernel-enforced sandbox")
set(CPACK_PACKAGE_DESCRIPTION
"Container-MCP offers tools to language models over the Model Context Protocol:
it runs bash commands and Python and works on files. Each run is confined by
namespaces, seccomp, Landlock and limits; it has no network and no privileges.
The package sets up a system service on http://127.0.0.1:8000.")
# Absolute paths in the staging folder: files of /etc, and units that name the final prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, python3, init-system-helpers (>= 1.52)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd, jq, python3-bs4, python3-lxml, poppler-utils, skopeo, umoci")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "apparmor, chromium, firejail")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(debian_folder ${CMAKE_SOURCE_DIR}/container/package/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${debian_folder}/postinst ${debian_folder}/prerm ${debian_folder}/postrm ${debian_folder}/conffiles)
set(CPACK_CMCP_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_CMCP_MADE ${made_folder})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian_layout.cmake)
include(CPack)

# The bundle for desktop clients: cmake --preset release -B build/bundle -DCMCP_STATIC=ON && cmake --build build/bundle --target mcpb
set(bundle ${CMAKE_BINARY_DIR}/mcpb)
set(bundle_programs)
set(bundle_commands)
foreach(program container-mcp container-mcp-load container-mcp-launcher container-mcp-run container-mcp-zygote)
    if(NOT TARGET ${program})
        continue()
    endif()
    set(place libexec/container-mcp)
    if(program MATCHES "^container-mcp(-load|-run)?$")
        set(place bin)
    endif()
    list(APPEND bundle_programs ${program})
    list(APPEND bundle_commands COMMAND ${CMAKE_STRIP} -o ${bundle}/server/${place}/${program} $<TARGET_FILE:${program}>)
endforeach()
add_custom_target(mcpb
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${bundle}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${bundle}/server/bin ${bundle}/server/libexec/container-mcp
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/container/mcpb/manifest.json ${CMAKE_SOURCE_DIR}/LICENSE ${bundle}
    ${bundle_commands}
    COMMAND ${CMAKE_COMMAND} -E chdir ${bundle} ${CMAKE_COMMAND} -E tar cf ${CMAKE_BINARY_DIR}/container-mcp-${PROJECT_VERSION}.mcpb
            --format=zip manifest.json LICENSE server
    DEPENDS ${bundle_programs} VERBATIM)
