import Basics
import TestSupport
import Testing

@testable import Streaming

@Suite struct MediaURLTests {
    @Test(
        arguments: [
            ("rtmp://live.example/app/key", "live.example", nil, "/app/key", nil),
            ("RTMPS://Live.Example:443/app/key?a=b", "live.example", 443, "/app/key", "a=b"),
            ("srt://[2001:db8::1]:9000?streamid=x", "2001:db8::1", 9000, "", "streamid=x"),
            ("rtmp://a:b@198.51.100.7/app", "198.51.100.7", nil, "/app", nil),
        ] as [(String, String, UInt16?, String, String?)]) func `A URL has its parts`(
            _ text: String, _ host: String, _ port: UInt16?, _ path: String, _ query: String?
        ) throws
    {
        let url = try #require(MediaURL(text))
        #expect((url.host, url.port, url.path, url.query) == (host, port, path, query))
        #expect(
            url.text == url.scheme + text.dropFirst(url.scheme.count).replacing("Live.Example", with: "live.example"))
    }

    @Test(arguments: [
        "", "rtmp", "rtmp:/live.example/a", "://h/a", "rtmp:///a/b", "rtmp://ho st/a", "rtmp://h:0/a",
        "rtmp://h:99999/a",
        "rtmp://h:1x/a", "rtmp://127.1/a/b", "rtmp://2130706433/a/b", "rtmp://0x7f.0.0.1/a/b",
        "rtmp://0177.0.0.1/a",
        "rtmp://[::1/a", "rtmp://[v1.x]/a", "rtmp://[127.0.0.1]/a", "rtmp://a..b/c", "rtmp://h\n/a", "rtmp://h/ä",
        "file:/etc/passwd", "rtmp://h/" + String(repeating: "a", count: 2048),
    ]) func `What is no URL, or names its host in a way that only the C library reads, is none`(_ text: String) {
        #expect(MediaURL(text) == nil)
    }

    @Test(arguments: [
        ("rtmp://live.example/app/k3y-abcd", "rtmp://live.example/app/…"),
        ("rtmp://live.example/app/inst/k3y-abcd?user=u&pass=secret", "rtmp://live.example/app/inst/…?…"),
        ("rtmp://live.example/k3y-abcd", "rtmp://live.example/…"),
        ("rtmp://live.example/app?token=secret/k3y-abcd", "rtmp://live.example/…?…"),
        ("rtmps://me:secret@live.example:443/app/k3y-abcd", "rtmps://…@live.example:443/app/…"),
        (
            "srt://live.example:9000?passphrase=0123456789&streamid=publish:me&latency=200000",
            "srt://live.example:9000?passphrase=…&streamid=…&latency=200000"
        ),
        ("srt://live.example:9000?secret", "srt://live.example:9000?…"),
        ("https://me:secret@live.example/a/b.m3u8?token=secret", "https://…@live.example/a/b.m3u8?token=…"),
    ]) func `No credential is in the redacted form`(_ text: String, _ shown: String) throws {
        let url = try #require(MediaURL(text))
        #expect(url.redacted == shown)
        #expect("\(url)" == shown)
    }

    @Test func `A percent sign without two digits stands for itself`() throws {
        let url = try #require(MediaURL("rtmp://live.example/app?a=%2b%2B&b=%+1&c=%4&d=%"))
        #expect(url.parameters.map(\.value) == ["++", "%+1", "%4", "%"])
    }

    @Test func `What a server answers is shown without the URL's credentials, on one short line`() throws {
        let url = try #require(MediaURL("rtmp://me:pa%73sword@live.example/app/k3y-abcd?auth=secret"))
        let told = "Stream k3y-abcd of me:pa%73sword (password) not found:\nauth=secret, secret\u{202E}"
        #expect(url.redacting(told) == "Stream … of … (…) not found: …, … ")
        #expect(url.redacting(String(repeating: "x", count: 5000)).count == 200)
        let short = try #require(MediaURL("rtmp://live.example/app/ab"))
        #expect(short.redacting("no stream ab here") == "the server refuses")
        #expect(short.redacting("Connection refused") == "Connection refused")
    }
}

/// Whatever is in a URL, its secrets are in no text that leaves the server.
@Suite struct MediaURLRubbishTests {
    @Test(arguments: seeds(0..<200)) func `no secret is in a text for others, and nothing traps`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let letters = Array("abcXYZ019-._~:/?#[]@!$&'()*+,;=% é\n".unicodeScalars)
        let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in letters.randomElement(using: &random)! }
        let rest = String(String.UnicodeScalarView(bytes))
        for scheme in ["rtmp", "srt", "https"] {
            guard let url = MediaURL("\(scheme)://" + rest) else { continue }
            #expect(url.text.hasSuffix(String(rest.split(separator: "?", maxSplits: 1).dropFirst().first ?? "")))
            _ = (
                url.redacted, url.parameters, url.redacting(rest), try? SRTOptions(url),
                OutputConnection.connectURL(url)
            )
        }
        let secret = "s3" + (0..<8).map { _ in String("abcdef0123456789".randomElement(using: &random)!) }.joined()
        for text in [
            "rtmp://h.example/app/\(secret)", "rtmp://u:\(secret)@h.example/a/b", "rtmps://h.example/a/b?x=\(secret)",
            "rtmp://h.example/a?\(secret)=1/b", "srt://h.example:1?streamid=\(secret)", "srt://h.example:1?\(secret)",
            "https://h.example/a?\(secret)", "https://\(secret)@h.example/a",
        ] {
            let url = try #require(MediaURL(text))
            #expect(!url.redacted.contains(secret) && !"\(url)".contains(secret), "\(text)")
            #expect(!url.redacting("bad \(secret)!").contains(secret), "\(text)")
        }
    }
}
