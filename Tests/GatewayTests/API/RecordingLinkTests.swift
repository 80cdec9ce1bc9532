import Foundation
import HTTPTypes
import Logging
import TestSupport
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct RecordingLinkTests {
    private let admin: HTTPFields = [.authorization: "Bearer the administrator"]

    private func host(_ path: String) async -> Host {
        await Host(FakeConference(file: path)) { $0.auth.adminToken = "the administrator" }
    }

    /// A recording of 100 bytes.
    private func file(in directory: ScratchDirectory) -> String {
        let path = directory.file("rec.mp4")
        _ = FileManager.default.createFile(atPath: path, contents: Data((0..<100).map { UInt8($0) }))
        return path
    }

    @Test func `as soon as there is a token, recordings are for its holders`() async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = file(in: directory)
        let host = await host(path)
        for path in ["/api/recordings", "/api/recordings/rec", "/api/recordings/rec/file"] {
            #expect(try await host.ask(.get, path).status == 401, "\(path)")
            #expect(try await host.ask(.get, path, admin).status == 200, "\(path)")
        }
        let guests = await Host {
            $0.auth.mode = .token
            $0.auth.secret = "the secret of the portal, of 32 bytes"
        }
        #expect(try await guests.ask(.get, "/api/recordings", from: "203.0.113.9").status == 403)
        let open = await Host(FakeConference(file: path))
        #expect(try await open.ask(.get, "/api/recordings/rec/file", from: "203.0.113.9").status == 200)
    }

    @Test func `a link opens its recording, and no other, until it expires`() async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = file(in: directory)
        let host = await host(path)
        #expect(try await host.ask(.post, "/api/recordings/rec/link").status == 401)
        let made = try await host.ask(.post, "/api/recordings/rec/link", admin, body: #"{"seconds":3600}"#)
        #expect(made.status == 201 && made.json["expiresAt"] != nil)
        guard case .string(let url)? = made.json["url"] else { Issue.record("no link"); return }
        let whole = try await host.ask(.get, url, from: "203.0.113.9")
        #expect(whole.status == 200 && whole.body.count == 100)
        #expect(try await host.ask(.get, url, [.range: "bytes=0-9"], from: "203.0.113.9").status == 206)
        let timeline = url.replacing("/file?", with: "/timeline?")
        #expect(try await host.ask(.get, timeline).status == 404, "the recording has none")
        _ = FileManager.default.createFile(atPath: path + ".timeline.json", contents: Data(#"{"duration":2}"#.utf8))
        _ = FileManager.default.createFile(atPath: path + ".vtt", contents: Data("WEBVTT\n".utf8))
        #expect(try await host.ask(.get, timeline, from: "203.0.113.9").json["duration"] == 2)
        let text = try await host.ask(.get, timeline + "&format=vtt", from: "203.0.113.9")
        #expect(text.status == 200 && text.headers[.contentType] == "text/vtt; charset=utf-8")
        #expect(try await host.ask(.get, timeline + "&format=srt").status == 400)
        #expect(try await host.ask(.get, timeline.replacing("/rec/", with: "/other/")).status == 401)
        let film: HTTPFields = [.secFetchSite: "cross-site", .secFetchMode: "no-cors"]
        #expect(
            try await host.ask(.get, url, film, from: "203.0.113.9").status == 200, "a page of another site may show it"
        )
        #expect(try await host.ask(.get, url.replacing("/rec/", with: "/other/")).status == 401)
        #expect(try await host.ask(.get, url.replacing("expires=", with: "expires=9")).status == 401)
        #expect(try await host.ask(.get, String(url.dropLast())).status == 401)
        #expect(
            try await host.ask(.get, "/api/recordings/rec" + url.drop { $0 != "?" }).status == 401, "the file alone")
        #expect(try await host.ask(.post, "/api/recordings/none/link", admin).status == 404)
        for body in [#"{"seconds":0}"#, #"{"seconds":604801}"#, #"{"seconds":"x"}"#, #"{"second":1}"#] {
            #expect(try await host.ask(.post, "/api/recordings/rec/link", admin, body: body).status == 400)
        }
    }

    @Test func `a key reads, renames, shares and removes its recording, and does nothing else`() async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let host = await host(file(in: directory))
        let links = RecordingLinks(adminToken: "the administrator", secret: "")
        let now = Int(Date().timeIntervalSince1970)
        let key: HTTPFields = [.authorization: "Bearer " + links.key(of: "rec", expires: now + 60)]
        func ask(
            _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, _ body: String = ""
        ) async throws -> Answer {
            try await host.ask(method, path, headers, body: body, from: "203.0.113.9")
        }
        for path in ["", "/file", "/thumbnail"] {
            #expect(try await ask(.get, "/api/recordings/rec" + path, key).status == 200, "\(path)")
        }
        let renamed = try await ask(.patch, "/api/recordings/rec", key, #"{"title":"The vote"}"#)
        #expect(renamed.status == 200 && renamed.json["title"] == "The vote")
        #expect(try await ask(.post, "/api/recordings/rec/link", key, #"{"seconds":60}"#).status == 201)
        for body in [#"{"state":"paused"}"#, #"{"title":"x","state":"paused"}"#, "{}", #"{"title":5}"#] {
            #expect(try await ask(.patch, "/api/recordings/rec", key, body).status == 400, "\(body)")
        }
        for (method, path) in [
            (.post, "/api/recordings/rec/stop"), (.post, "/api/recordings/rec/marks"),
            (.post, "/api/recordings/rec/deliver"), (.get, "/api/recordings"), (.get, "/api/recordings/other"),
            (.delete, "/api/recordings/other"), (.get, "/api/webhooks"),
        ] as [(HTTPRequest.Method, String)] {
            #expect(try await ask(method, path, key).status == 401, "\(path)")
        }
        // Neither a link's signature, nor a key that has ended or was changed.
        let link = links.path(of: "rec", expires: now + 60)
        let signature = String(link.split(separator: "=").last ?? "")
        for bearer in [
            "recording.\(now + 60).\(signature)", links.key(of: "rec", expires: now - 1),
            links.key(of: "rec", expires: now + 60).replacing("\(now + 60)", with: "\(now + 61)"),
            RecordingLinks(adminToken: "other", secret: "").key(of: "rec", expires: now + 60), "recording..",
            "recording",
        ] {
            #expect(try await ask(.delete, "/api/recordings/rec", [.authorization: "Bearer " + bearer]).status == 401)
        }
        let stolen =
            "/api/recordings/rec/file?expires=\(now + 60)&signature="
            + String(links.key(of: "rec", expires: now + 60).split(separator: ".").last ?? "")
        #expect(try await ask(.get, stolen, [:]).status == 401, "a key's signature is no link")
        #expect(try await ask(.delete, "/api/recordings/rec", key).status == 204)
    }

    @Test func `without tokens keys outlive the process`() throws {
        let directory = ScratchDirectory()
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let secret = try #require(LinkKeyFile.secret(in: directory.file("data"), logger: logger))
        #expect(secret.count == 32 && LinkKeyFile.secret(in: directory.file("data"), logger: logger) == secret)
        let path = directory.file("data/recordings.key")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try Data([1, 2]).write(to: URL(fileURLWithPath: path))
        #expect(LinkKeyFile.secret(in: directory.file("data"), logger: logger) == nil, "a file that is no key")
        #expect(LinkKeyFile.secret(in: "/proc/nowhere", logger: logger) == nil)
        let one = RecordingLinks(adminToken: "", secret: "", other: secret)
        let other = RecordingLinks(adminToken: "", secret: "", other: secret)
        #expect(other.isKey(one.key(of: "rec", expires: 1000), of: "rec", at: Date(timeIntervalSince1970: 999)))
        #expect(!other.isKey(one.key(of: "rec", expires: 1000), of: "rec", at: Date(timeIntervalSince1970: 1000)))
    }

    @Test func `links end with their time and with the tokens`() {
        let links = RecordingLinks(adminToken: "a", secret: "b")
        let path = links.path(of: "20260704-kitchen", expires: 1000)
        let signature = String(path.split(separator: "=").last ?? "")
        func holds(_ links: RecordingLinks, _ id: String = "20260704-kitchen", at time: TimeInterval = 999) -> Bool {
            links.isValid(signature, id: id, expires: 1000, at: Date(timeIntervalSince1970: time))
        }
        #expect(path.hasPrefix("/api/recordings/20260704-kitchen/file?expires=1000&signature="))
        #expect(holds(links) && !holds(links, at: 1000) && !holds(links, "other"))
        #expect(holds(RecordingLinks(adminToken: "a", secret: "b")), "after a restart, too")
        #expect(
            !holds(RecordingLinks(adminToken: "ab", secret: "")) && !holds(RecordingLinks(adminToken: "", secret: "")))
    }

    @Test func `downloads beyond the limit are refused`() throws {
        let places = ConcurrencyLimit(1)
        var place = places.take()
        #expect(place != nil && places.take() == nil)
        place = nil
        #expect(places.take() != nil)
    }
}
