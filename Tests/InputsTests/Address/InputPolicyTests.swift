import Basics
import Streaming
import Testing

@testable import Inputs

@Suite struct InputPolicyTests {
    private func policy(_ hosts: String..., directory: String = "", schemes: [String] = InputAddress.schemes)
        -> InputPolicy
    {
        InputPolicy(schemes: Set(schemes), hosts: hosts.compactMap { HostPattern($0) }, directory: directory)
    }

    @Test(
        arguments: [
            "http://127.0.0.1/x", "http://169.254.169.254/latest/meta-data", "http://10.0.0.8/x", "http://[::1]/x",
            "http://192.168.1.1/x", "rtmp://172.16.0.1/a/b", "rtsp://100.64.0.1/x", "srt://127.0.0.1:9000",
            "http://0.0.0.0/x", "http://[::ffff:127.0.0.1]/x", "http://[fe80::1]/x", "http://[64:ff9b::7f00:1]/x",
            "rtsp://[fd00::1]/x", "http://224.0.0.1/x",
        ])
    func `internal addresses are refused unless they are listed`(text: String) throws {
        let address = try InputAddress(text)
        #expect(throws: StreamingError.self) { try policy().check(address) }
        #expect(throws: StreamingError.self) { try policy("*").check(address) }
        #expect(throws: StreamingError.self) { try policy("camera.example").check(address) }
        try policy("0.0.0.0/0", "::/0").check(address)
    }

    @Test func `a name that means an internal address is refused when it is looked up`() throws {
        let url = try #require(MediaURL("http://localhost/x"))
        #expect(throws: StreamingError.self) { try policy().address(of: url) }
        #expect(throws: StreamingError.self) { try policy("*").address(of: url) }
        #expect(try policy("localhost").address(of: url).isLoopback)
        #expect(try policy("127.0.0.0/8", "::1").address(of: url).isLoopback)
    }

    @Test func `schemes that are not listed, and files without a directory, are refused`() throws {
        #expect(throws: StreamingError.self) { try policy().check(try InputAddress("a.mp4")) }
        try policy(directory: "/srv").check(try InputAddress("a.mp4"))
        #expect(throws: StreamingError.self) {
            try policy(directory: "/srv", schemes: ["http"]).check(try InputAddress("a.mp4"))
        }
        #expect(throws: StreamingError.self) {
            try policy(schemes: ["http"]).check(try InputAddress("rtmp://198.51.99.1/a/b"))
        }
        #expect(throws: StreamingError.self) { try policy("*").check(try InputAddress("ftp://video.example/a")) }
    }

    @Test(
        arguments: [
            "srt://camera.example", "srt://camera.example:9000?mode=rendezvous",
            "srt://camera.example:9000?passphrase=short",
            "srt://camera.example:9000?localaddr=1", "srt://0.0.0.0:9000?mode=listener",
            "srt://0.0.0.0:80?mode=listener&passphrase=sesamesesame",
            "srt://192.0.2.7:9000?mode=listener&passphrase=sesamesesame", "srt://camera.example:9000?latency=-1",
        ])
    func `SRT parameters are checked`(text: String) throws {
        #expect(throws: StreamingError.self) { try policy().check(try InputAddress(text)) }
    }

    @Test func `a caller and a listener`() throws {
        let caller = try #require(
            MediaURL("srt://c.example:9000?passphrase=sesame%20sesame&latency=200000&streamid=a%2Fb"))
        let options = try SRTSettings(caller).options
        #expect(options["passphrase"] == "sesame sesame" && options["latency"] == "200000")
        #expect(options["srt_streamid"] == "a/b" && options["mode"] == "caller")
        let listener = "srt://0.0.0.0:9000?mode=listener&passphrase=sesamesesame"
        try policy().check(try InputAddress(listener))
        #expect(throws: StreamingError.self) { try policy(schemes: ["http"]).check(try InputAddress(listener)) }
    }
}
