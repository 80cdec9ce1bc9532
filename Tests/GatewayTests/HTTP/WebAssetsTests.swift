import Foundation
import HTTPTypes
import Testing
import WebFiles

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct WebAssetsTests {
    private static let script = WebFile(
        name: "start.ABCDEFGH.js", isHashed: true, digest: "d1", text: "as it is", brotli: base64("br"),
        gzip: base64("gzip"))
    private static let page = WebFile(
        name: "index.html", isHashed: false, digest: "d2", scriptDigests: ["abc="], text: "<html lang=en>",
        brotli: base64("br"), gzip: base64("gzip"))

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private func ask(_ path: String, _ headers: HTTPFields = [:]) async throws -> Answer {
        let host = await Host(assets: [Self.script, Self.page]) { $0.http.allowedOrigins = ["https://portal.example"] }
        return try await host.ask(.get, path, headers, from: "203.0.113.9")
    }

    @Test(
        arguments: [("gzip, br", "br", "\"d1-br\""), ("gzip", "gzip", "\"d1-gzip\""), ("zstd", nil, "\"d1\"")]
            as [(String, String?, String)])
    func `a file is sent in a coding that the browser takes`(accepted: String, coding: String?, tag: String)
        async throws
    {
        let answer = try await ask("/assets/start.ABCDEFGH.js", [.acceptEncoding: accepted])
        #expect(answer.status == 200)
        #expect(answer.headers[.contentEncoding] == coding)
        #expect(String(decoding: answer.body, as: UTF8.self) == (coding ?? "as it is"))
        #expect(answer.headers[.contentType] == "text/javascript; charset=utf-8", "of what is in it")
        #expect(answer.headers[.eTag] == tag, "each encoding has its own")
        #expect(answer.headers[.vary] == "Accept-Encoding")
    }

    @Test func `a name with a digest is kept for good, and the page asks each time`() async throws {
        let script = try await ask("/assets/start.ABCDEFGH.js")
        #expect(script.headers[.cacheControl] == "public, max-age=31536000, immutable")
        let page = try await ask("/r/kitchen", [.acceptEncoding: "br"])
        #expect(page.headers[.cacheControl] == "no-cache")
        let tag = try #require(page.headers[.eTag])
        let again = try await ask("/r/kitchen", [.acceptEncoding: "br", .ifNoneMatch: tag])
        #expect(again.status == 304 && again.body.isEmpty)
        #expect(again.headers[.contentEncoding] == nil)
        #expect(again.headers[.vary] == "Accept-Encoding" && again.headers[.eTag] == tag)
        let other = try await ask("/r/kitchen", [.acceptEncoding: "gzip", .ifNoneMatch: tag])
        #expect(other.status == 200, "another encoding is another file")
        // A proxy in between weakens the tag of what it sends on.
        #expect(try await ask("/", [.acceptEncoding: "br", .ifNoneMatch: "W/" + tag]).status == 304)
    }

    @Test func `nobody keeps the answer that a file is missing`() async throws {
        let answer = try await ask("/assets/start.OTHEROTH.js")
        #expect(answer.status == 404)
        #expect(answer.headers[.cacheControl] == "no-store")
    }

    @Test func `the page's own script is permitted by its digest, and no other`() async throws {
        let policy = try #require(try await ask("/").headers[.contentSecurityPolicy])
        #expect(policy.contains("; script-src 'self' 'sha256-abc='; "))
        #expect(!policy.contains("unsafe"))
        #expect(policy.hasSuffix("; frame-ancestors 'none'"))
    }

    @Test func `an answer for a page of another site varies by that too`() async throws {
        let answer = try await ask("/assets/start.ABCDEFGH.js", [.origin: "https://portal.example"])
        #expect(answer.headers[.vary] == "Accept-Encoding, Origin")
        #expect(answer.headers[.accessControlAllowOrigin] == "https://portal.example")
    }

    @Test func `what compression does not make smaller is sent as it is`() async throws {
        let host = await Host(assets: [
            WebFile(name: "x.js", isHashed: false, digest: "d", text: "1", brotli: Self.base64("br"), gzip: "")
        ])
        let answer = try await host.ask(.get, "/assets/x.js", [.acceptEncoding: "br, gzip"])
        #expect(answer.headers[.contentEncoding] == nil && answer.body == Array("1".utf8))
    }
}
