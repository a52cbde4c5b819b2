# What is installed beside the programs. Texts that list the settings are made from the program's own table, so they
# cannot differ from it.
set(package_folder ${CMAKE_SOURCE_DIR}/container/package)
set(made_folder ${CMAKE_BINARY_DIR}/package)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(made_texts)
function(make_text text program)
    add_custom_command(
        OUTPUT ${made_folder}/${text}
        COMMAND ${Python3_EXECUTABLE} ${package_folder}/fill_in.py $<TARGET_FILE:${program}>
                ${package_folder}/${text}.in ${made_folder}/${text}
        DEPENDS ${program} ${package_folder}/fill_in.py ${package_folder}/${text}.in
        VERBATIM)
    set(made_texts ${made_texts} ${made_folder}/${text} PARENT_SCOPE)
endfunction()
foreach(text container-mcp.1 custom.env)
    make_text(${text} container-mcp)
endforeach()
make_text(container-mcp-load.1 container-mcp-load)
foreach(shell bash zsh fish)
    add_custom_command(OUTPUT ${made_folder}/completion.${shell}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${made_folder}
        COMMAND container-mcp completion ${shell} > ${made_folder}/completion.${shell} DEPENDS container-mcp VERBATIM)
    list(APPEND made_texts ${made_folder}/completion.${shell})
endforeach()
add_custom_target(package_texts ALL DEPENDS ${made_texts})

# Every program that is shipped, and with the texts beside them what `cmake --install` and CPack take; both without the tests.
# A server needs all of them but the load tester.
add_custom_target(server_programs)
foreach(program container-mcp container-mcp-launcher container-mcp-run container-mcp-zygote)
    if(TARGET ${program})
        add_dependencies(server_programs ${program})
    endif()
endforeach()
add_custom_target(programs)
add_dependencies(programs server_programs container-mcp-load)
add_custom_target(package_contents DEPENDS package_texts)
add_dependencies(package_contents programs)

set(shared_folder ${CMAKE_INSTALL_DATADIR}/container-mcp)
install(FILES ${made_folder}/container-mcp.1 ${made_folder}/container-mcp-load.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${made_folder}/completion.bash RENAME container-mcp
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${made_folder}/completion.zsh RENAME _container-mcp
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${made_folder}/completion.fish RENAME container-mcp.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${made_folder}/custom.env DESTINATION ${shared_folder})
install(FILES ${CMAKE_SOURCE_DIR}/container/seccomp.json DESTINATION ${shared_folder})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/container/apparmor/ DESTINATION ${shared_folder}/apparmor)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/scripts/grafana DESTINATION ${shared_folder})
install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/container-mcp)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/container-mcp)
install(FILES ${package_folder}/logrotate DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/container-mcp/examples)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/container/clients/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/container-mcp/examples/clients)
set(cluster_folder ${CMAKE_SOURCE_DIR}/container/cluster)
install(PROGRAMS ${cluster_folder}/certificates DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/container-mcp/examples/cluster)
foreach(name custom.env etcd.env etcd.service haproxy.cfg)
    install(FILES ${cluster_folder}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/container-mcp/examples/cluster)
endforeach()

# The units name the program by its full path, which is known only when the prefix is: at the time of the installation.
install(CODE "
    set(bindir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    foreach(kind system user)
        set(unit \"${made_folder}/\${kind}/container-mcp.service\")
        configure_file(\"${package_folder}/container-mcp.\${kind}.service.in\" \"\${unit}\" @ONLY)
        file(INSTALL \"\${unit}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/\${kind}\")
    endforeach()")
