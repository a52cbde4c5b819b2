# What Debian's policy wants beyond `cmake --install`. Run by CPack when everything is in the staging folder.
set(staged ${CPACK_TEMPORARY_DIRECTORY})
set(docs ${staged}/usr/share/doc/container-mcp)

function(compress from to)
    get_filename_component(folder ${to} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Not file(INSTALL): it would put DESTDIR before a path that has it already.
configure_file(${CPACK_CMCP_MADE}/custom.env ${staged}/etc/container-mcp/custom.env COPYONLY)
configure_file(${CPACK_CMCP_SOURCE}/container/package/debian/copyright ${docs}/copyright COPYONLY)
configure_file(${CPACK_CMCP_SOURCE}/container/package/debian/overrides ${staged}/usr/share/lintian/overrides/container-mcp COPYONLY)

if(DEFINED ENV{SOURCE_DATE_EPOCH})
    set(when "@$ENV{SOURCE_DATE_EPOCH}")
else()
    set(when now)
endif()
execute_process(COMMAND date -u -R -d ${when} OUTPUT_VARIABLE when OUTPUT_STRIP_TRAILING_WHITESPACE)
set(entry ${CPACK_CMCP_MADE}/changelog.Debian)
file(WRITE ${entry} "container-mcp (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * What is new stands in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${when}
")
compress(${entry} ${docs}/changelog.Debian.gz)
compress(${CPACK_CMCP_SOURCE}/CHANGELOG.md ${docs}/changelog.gz)
foreach(page container-mcp.1 container-mcp-load.1)
    compress(${staged}/usr/share/man/man1/${page} ${staged}/usr/share/man/man1/${page}.gz)
    file(REMOVE ${staged}/usr/share/man/man1/${page})
endforeach()
