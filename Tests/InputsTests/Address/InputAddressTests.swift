import Streaming
import Testing

@testable import Inputs

@Suite struct InputAddressTests {
    @Test(arguments: ["clips/intro.mp4", "a.mp4", "A b/ü.webm", "..clips/x..mp4"])
    func `a path below the directory is a file`(path: String) throws {
        #expect(try InputAddress(path) == .file(path))
    }

    @Test(
        arguments: [
            "", "/etc/passwd", "../secret.mp4", "clips/../../x", "clips/./x", "clips//x", "clips/", "a\\b.mp4",
            "file:/etc/passwd", "file:///etc/passwd", "FILE:///etc/passwd", "concat:a|b", "data:text/plain,x", "pipe:0",
            "a\u{0}b", "http:clip.mp4", "http://", "http://a b/", "subfile,,start,0,end,0,,:/etc/passwd",
        ])
    func `no path that leads elsewhere and no text with another scheme is taken`(text: String) {
        #expect(throws: StreamingError.self) { try InputAddress(text) }
    }

    @Test func `what is shown has neither user nor key nor query`() throws {
        for text in [
            "srt://camera.example:9000?passphrase=sesamesesame&streamid=cam7",
            "rtsp://anna:sesamesesame@camera.example/1",
            "https://video.example/a.mp4?token=sesamesesame", "rtmp://live.example/app/sesamesesame",
        ] {
            let shown = try InputAddress(text).redacted
            #expect(!shown.contains("sesame") && !shown.contains("anna") && !shown.contains("cam7"), "\(shown)")
            #expect(shown.contains(".example"))
        }
    }
}
