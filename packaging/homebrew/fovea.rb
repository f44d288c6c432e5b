class Fovea < Formula
  desc "Attention kernels for CPUs, with one answer"
  homepage "@HOME@"
  url "@ADDRESS@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "cairo"

  def install
    args = %W[
      -DCMAKE_INSTALL_RPATH=#{rpath}
      -DFOVEA_BUILD_TESTS=OFF
      -DFOVEA_BUILD_BENCH=OFF
      -DFOVEA_BUILD_EXAMPLES=OFF
    ]
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *args, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "examples/first/first.c"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/fovea info")
    system ENV.cc, pkgshare/"first.c", "-I#{include}", "-L#{lib}", "-lfovea", "-o", "first"
    assert_equal "1 2, 2.33952 3.33952", shell_output("./first").strip
  end
end
