# Read by ctest, after the tests of test_judge are known.
set(zoo_tests ${test_judge_full_TESTS})
list(FILTER zoo_tests INCLUDE REGEX "^Zoo\\.")
set(zoo_matrix ${test_judge_full_TESTS})
list(FILTER zoo_matrix INCLUDE REGEX "^ZooMatrix\\.")
if(zoo_matrix)
  set_tests_properties(${zoo_matrix} PROPERTIES DEPENDS "${zoo_tests}")
endif()
