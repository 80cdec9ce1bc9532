import Basics
import Conference
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct PictureRouteTests {
    private static let seat: HTTPFields = [.authorization: "Bearer p2.s"]
    private static let path = "/api/rooms/r/chat/pictures"

    @Test func `who sits in the room sends a picture to its chat`() async throws {
        let host = await Host()
        let answer = try await host.ask(.post, Self.path, Self.seat, body: "GIF89a and more", from: "203.0.113.9")
        #expect(answer.status == 201)
        #expect(
            answer.json == ["url": .string("/images/\(FakeConference.picture)"), "type": "image/gif", "bytes": 15])
        _ = try await host.ask(.post, Self.path + "?to=p7", Self.seat, body: "GIF89a")
        #expect(host.service.asked == ["picture to all", "store 15", "picture to p7", "store 6"])
    }

    @Test(arguments: [
        "", "Bearer p2", "Bearer p2.", "Bearer .s", "Bearer p2.s.x", "Bearer p2.wrong", "Bearer p1.s", "Basic p2.s",
    ])
    func `nobody else does`(authorization: String) async throws {
        let host = await Host()
        let answer = try await host.ask(.post, Self.path, [.authorization: authorization], body: "GIF89a")
        #expect(answer.status == 401 && answer.code == "unauthorized")
        #expect(try await host.ask(.post, "/api/rooms/other/chat/pictures", Self.seat, body: "GIF89a").status == 401)
        #expect(host.service.asked.isEmpty)
    }

    @Test func `what is no picture, and too large a one, is refused`() async throws {
        let host = await Host()
        let page = try await host.ask(.post, Self.path, Self.seat, body: "<!doctype html><script>alert(1)</script>")
        #expect(page.status == 415 && page.code == "unsupported_media_type")
        let large = "GIF89a" + String(repeating: "x", count: ChatPicture.maxBytes - 5)
        #expect(try await host.ask(.post, Self.path, Self.seat, body: large).status == 413)
        #expect(try await host.ask(.post, Self.path, Self.seat, body: String(large.dropLast())).status == 201)
    }

    @Test func `a picture is read by its name, as what it is, and nothing in it runs`() async throws {
        let scratch = ScratchDirectory()
        let file = scratch.path + "/picture"
        try Data("GIF89a<script>".utf8).write(to: URL(fileURLWithPath: file))
        let host = await Host(FakeConference(file: file)) { $0.auth.mode = .token }
        let path = "/images/" + FakeConference.picture
        let answer = try await host.ask(.get, path, from: "203.0.113.9")
        #expect(answer.status == 200 && answer.body == Array("GIF89a<script>".utf8))
        #expect(answer.headers[.contentType] == "image/gif")
        #expect(answer.headers[.xContentTypeOptions] == "nosniff")
        #expect(answer.headers[.contentSecurityPolicy] == "default-src 'none'; sandbox")
        #expect(answer.headers[.cacheControl] == "private, max-age=31536000, immutable")
        let head = try await host.ask(.head, path)
        #expect(head.status == 200 && head.body.isEmpty && head.headers[.contentType] == "image/gif")
        let tag = try #require(answer.headers[.eTag])
        #expect(try await host.ask(.get, path, [.ifNoneMatch: tag]).status == 304)
    }

    @Test(arguments: [
        "bbbbbbbbbbbbbbbbbbbbbbbbbb.gif", "..", "..%2f..%2fetc%2fpasswd", "%2e%2e", "aaaaaaaaaaaaaaaaaaaaaaaaaa.gif%00",
        "aaaaaaaaaaaaaaaaaaaaaaaaaa.html", "aaaaaaaaaaaaaaaaaaaaaaaaaa.gif.part", "",
    ])
    func `no other name reads a file`(name: String) async throws {
        let host = await Host(FakeConference(file: "/etc/passwd"))
        let answer = try await host.ask(.get, "/images/" + name)
        #expect(answer.status == 404, "\(answer.status)")
    }
}
