{
  "targets": [
    {
      "target_name": "parley",
      "sources": ["addon.cc", "g722.cc", "polyphase.cc", "silero.cc", "udp.cc"],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED", "NAPI_VERSION=8"],
      "cflags_cc": ["-std=c++17", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-psabi", "-Wno-unused-parameter"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
        "GCC_OPTIMIZATION_LEVEL": "3",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "OTHER_CPLUSPLUSFLAGS": ["-ffp-contract=fast", "-fno-math-errno"]
      }
    }
  ]
}
