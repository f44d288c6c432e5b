# fovea_headers, fovea_nn_headers: the public headers of the two libraries. All of include/fovea are public; those that
# declare something of fovea_nn are fovea_nn's.

file(GLOB all_headers CONFIGURE_DEPENDS include/fovea/*.h)
set(fovea_headers "")
set(fovea_nn_headers "")
foreach(header IN LISTS all_headers)
  file(STRINGS ${header} of_nn REGEX "FOVEA_NN_API" LIMIT_COUNT 1)
  if(of_nn)
    list(APPEND fovea_nn_headers ${header})
  else()
    list(APPEND fovea_headers ${header})
  endif()
endforeach()
