import Basics
import Foundation
import HTTPTypes
import Recording
import TestSupport
import Testing

@testable import Admission
@testable import Conference
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct MeetingRouteTests {
    private static let seat: HTTPFields = [.authorization: "Bearer p2.s"]
    private static let path = "/api/rooms/r/recordings"

    private func recording(_ id: String, _ state: RecordingInfo.State, bytes: Int?, parts: Int = 1) -> RecordingInfo {
        RecordingInfo(
            id: id, room: "r", file: id + ".mp4", state: state, startedAt: Date(timeIntervalSince1970: 0),
            duration: bytes.map { _ in .milliseconds(2500) }, bytes: bytes,
            files: (0..<parts).map { RecordingPart(file: "\(id)-\($0).mp4", duration: 1, bytes: 5) })
    }

    @Test func `a seat gets the list, with links that open complete files without a token`() async throws {
        let directory = ScratchDirectory()
        let file = directory.file("rec.mp4")
        _ = FileManager.default.createFile(atPath: file, contents: Data((0..<100).map { UInt8($0) }))
        let host = await Host(FakeConference(file: file)) {
            $0.auth.mode = .token
            $0.auth.secret = "the secret of the portal, of 32 bytes"
        }
        host.service.state.withLock {
            $0.meeting = [
                recording("new", .recording, bytes: nil), recording("rec", .finished, bytes: 100, parts: 3),
                recording("lost", .failed, bytes: 0), recording("cut", .failed, bytes: 7),
            ]
        }
        let answer = try await host.ask(.get, Self.path, Self.seat, from: "203.0.113.9")
        #expect(answer.status == 200)
        guard case .array(let list) = answer.json, list.count == 4 else { Issue.record("\(answer.json)"); return }
        #expect(list.map { $0["url"] != nil } == [false, true, false, true], "what is complete can be had")
        #expect(list[1]["duration"] == 2.5 && list[1]["bytes"] == 100 && list[1]["parts"] == 3)
        guard case .array(let files)? = list[1]["files"] else { Issue.record("no files"); return }
        #expect(files.last == ["file": "rec-2.mp4", "duration": 1, "bytes": 5])
        #expect(list[1]["expiresAt"] != nil && list[3]["parts"] == nil)
        guard case .string(let url)? = list[1]["url"] else { Issue.record("no link"); return }
        #expect(url.hasPrefix("/api/recordings/rec/file?expires="), "a path, whatever the server's public address is")
        let whole = try await host.ask(.get, url, from: "203.0.113.9")
        #expect(whole.status == 200 && whole.body.count == 100)
        let part = try await host.ask(.get, url + "&part=1", [.range: "bytes=0-9"], from: "203.0.113.9")
        #expect(part.status == 206 && part.body.count == 10)
        #expect(try await host.ask(.get, url + "&part=2", from: "203.0.113.9").status == 404)
        for part in ["0", "-1", "x", "1000001", "99999999999999999999"] {
            #expect(try await host.ask(.get, url + "&part=" + part, from: "203.0.113.9").status == 400, "\(part)")
        }
        let expires = try #require(url.split(separator: "&").first?.split(separator: "=").last.flatMap { Int($0) })
        let left = Double(expires) - Date().timeIntervalSince1970
        #expect(left > 3 * 3600 && left <= 4 * 3600)
    }

    @Test func `hosts get the keys of what is theirs, also while it is recorded`() async throws {
        let host = await Host { $0.auth.adminToken = "the administrator" }
        host.service.state.withLock {
            $0.meeting = [
                recording("new", .recording, bytes: nil), recording("rec", .finished, bytes: 100),
                recording("other", .finished, bytes: 100),
            ]
            $0.own = ["new", "rec"]
        }
        let answer = try await host.ask(.get, Self.path, Self.seat, from: "203.0.113.9")
        guard case .array(let list) = answer.json, list.count == 3 else { Issue.record("\(answer.json)"); return }
        #expect(list.map { $0["key"] != nil } == [true, true, false])
        guard case .string(let key)? = list[1]["key"] else { return }
        #expect(list[1]["keyExpiresAt"] != nil)
        let bearer: HTTPFields = [.authorization: "Bearer " + key]
        #expect(try await host.ask(.get, "/api/recordings/rec", bearer, from: "203.0.113.9").status == 200)
        #expect(try await host.ask(.get, "/api/recordings/other", bearer, from: "203.0.113.9").status == 401)
    }

    @Test(arguments: ["", "Bearer p2", "Bearer p2.wrong", "Bearer p1.s", "Bearer the administrator"])
    func `nobody else gets it`(authorization: String) async throws {
        let host = await Host { $0.auth.adminToken = "the administrator" }
        host.service.state.withLock { $0.meeting = [recording("rec", .finished, bytes: 100)] }
        let answer = try await host.ask(.get, Self.path, [.authorization: authorization])
        #expect(answer.status == 401 && answer.code == "unauthorized")
        #expect(try await host.ask(.get, "/api/rooms/other/recordings", Self.seat).status == 401)
    }

    @Test func `a seat that may not record gets none`() async throws {
        let host = await Host()
        host.service.state.withLock { $0.recordingError = .forbidden("no") }
        #expect(try await host.ask(.get, Self.path, Self.seat).status == 403)
    }
}
