import Basics
import Codecs
import Conference
import EndpointTestSupport
import Foundation
import HTTPTypes
import Streaming
import TestSupport
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

/// The routes of HLS with a stream of 14 seconds in room `r`.
@Suite struct HLSRouteTests {
    private static let secret = "the secret of the portal, of 32 bytes"
    private static let stream = "abcdefgh23456789"
    /// Of segment 3, which begins after 12 s.
    private static let lastPart = 3

    private func host(token: Bool = false, _ change: (inout RoomSettings) -> Void = { _ in }) async throws -> Host {
        let host = await Host { settings in
            guard token else { return }
            settings.auth.mode = .token
            settings.auth.secret = Self.secret
            settings.auth.adminToken = "the administrator"
        }
        let stream = try HLSStream(id: Self.stream, epoch: 0, memory: HLSMemory()) {}
        let picture = Picture(width: 160, height: 96)
        picture.fill(y: 90, u: 128, v: 128)
        let encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: .h264, width: 160, height: 96, framesPerSecond: 10, bitRate: .kilobits(100)))
        for index in 0...140 {
            let frame = try encoder.encode(picture, timestamp: Int64(index) * 9000, forceKeyframe: index % 40 == 0)
            if let frame { stream.append(frame) }
        }
        // The last part that the frames make, so that no playlist of a test differs from the one before. A busy machine
        // takes longer for them than a reader waits.
        var isWhole = false
        for _ in 0..<600 where !isWhole {
            if case .ready(let window) = await stream.playlist(segment: 3, part: Self.lastPart) {
                isWhole = window.isLongEnough
            } else {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        #expect(isWhole)
        var settings = RoomSettings()
        settings.hls = true
        change(&settings)
        host.service.state.withLock { [settings] state in
            state.hls["r"] = stream
            state.settings["r"] = settings
        }
        return host
    }

    private func token(_ role: Role, room: String = "r") throws -> String {
        try TokenClaims(room: room, role: role.rawValue, exp: .distantFuture).signed(Self.secret)
    }

    private func ask(_ host: Host, _ file: String, _ headers: HTTPFields = [:]) async throws -> (
        answer: Answer, text: String
    ) {
        let answer = try await host.ask(.get, "/hls/r/" + file, headers, from: "203.0.113.9")
        return (answer, String(decoding: answer.body, as: UTF8.self))
    }

    /// The addresses in a playlist.
    private func addresses(_ playlist: String) -> [String] {
        playlist.split(separator: "\n").compactMap { line in
            if let quoted = line.firstMatch(of: #/URI="([^"]*)"/#) { return String(quoted.1) }
            return line.hasPrefix("#") ? nil : String(line)
        }
    }

    @Test func `a player gets from the first playlist to the media`() async throws {
        let host = try await host()
        let index = try await ask(host, "index.m3u8")
        #expect(index.answer.status == 200)
        #expect(index.answer.headers[.contentType] == "application/vnd.apple.mpegurl")
        #expect(addresses(index.text) == ["\(Self.stream).m3u8"])
        let playlist = try await ask(host, "\(Self.stream).m3u8")
        #expect(playlist.text.contains("#EXTINF:4.00000,\n\(Self.stream)-s0.m4s\n"), "\(playlist.text)")
        #expect(playlist.answer.headers[.cacheControl] == "no-store")
        for name in addresses(playlist.text).dropLast() {
            let media = try await ask(host, name)
            #expect(media.answer.status == 200 && media.answer.headers[.contentType] == "video/mp4", "\(name)")
            #expect(media.answer.headers[.cacheControl]?.hasPrefix("public") == true)
            let kind = String(decoding: media.answer.body.dropFirst(4).prefix(4), as: UTF8.self)
            #expect(kind == (name.contains("-h") ? "ftyp" : "moof"), "\(name)")
        }
        let waited = try await ask(host, "\(Self.stream).m3u8?_HLS_msn=3&_HLS_part=2")
        #expect(waited.text == playlist.text)
    }

    @Test(arguments: [
        "_HLS_part=1", "_HLS_msn=-1", "_HLS_msn=", "_HLS_msn=1e3", "_HLS_msn=99999999999999999999", "_HLS_msn=5",
        "_HLS_msn=3&_HLS_part=x", "_HLS_msn=3&_HLS_part=100", "_HLS_msn=%00", "_HLS_msn=0&_HLS_part=-0",
    ])
    func `nonsense is refused at once`(query: String) async throws {
        let answer = try await ask(try await host(), "\(Self.stream).m3u8?\(query)").answer
        #expect(answer.status == 400 && answer.code == "bad_request")
    }

    @Test(arguments: [
        "other.m3u8", "abc-s0.m4s", "\(stream)-s99.m4s", "\(stream)-p99.m4s", "\(stream)-h9.mp4", "index.m3u", "%2e%2e",
        "\(stream)-p99999999999999.m4s",
    ])
    func `other names are not found`(name: String) async throws {
        #expect(try await ask(try await host(), name).answer.status == 404)
    }

    @Test func `the token is in every address, and only one for the room is good`() async throws {
        let host = try await host(token: true)
        #expect(try await ask(host, "index.m3u8").answer.status == 401)
        #expect(try await ask(host, "index.m3u8?token=nonsense").answer.status == 401)
        let other = try token(.viewer, room: "other")
        #expect(try await ask(host, "index.m3u8?token=\(other)").answer.status == 403)
        let mine = try token(.viewer)
        let index = try await ask(host, "index.m3u8?token=\(mine)")
        #expect(addresses(index.text) == ["\(Self.stream).m3u8?token=\(mine)"])
        let playlist = try await ask(host, addresses(index.text)[0])
        #expect(addresses(playlist.text).count > 12)
        for address in addresses(playlist.text) { #expect(address.hasSuffix("?token=\(mine)"), "\(address)") }
        let media = try await ask(host, addresses(playlist.text)[0])
        #expect(media.answer.status == 200 && media.answer.headers[.cacheControl]?.hasPrefix("private") == true)
        #expect(try await ask(host, "\(Self.stream)-s0.m4s").answer.status == 401)
        let admin: HTTPFields = [.authorization: "Bearer the administrator"]
        #expect(try await ask(host, "\(Self.stream)-s0.m4s", admin).answer.status == 200)
    }

    @Test func `a room with a PIN asks for it, in every address`() async throws {
        let host = try await host { $0.pin = RoomPIN("2718") }
        let refused = try await ask(host, "index.m3u8").answer
        #expect(refused.status == 401 && refused.code == "pin_required")
        #expect(try await ask(host, "\(Self.stream)-s0.m4s").answer.status == 401)
        let playlist = try await ask(host, "\(Self.stream).m3u8?pin=2718")
        for address in addresses(playlist.text) { #expect(address.hasSuffix("?pin=2718"), "\(address)") }
        #expect(try await ask(host, "\(Self.stream)-s0.m4s?pin=2718").answer.status == 200)
        for _ in 0..<10 { #expect(try await ask(host, "index.m3u8?pin=1111").answer.code == "wrong_pin") }
        #expect(try await ask(host, "\(Self.stream)-s0.m4s?pin=1112").answer.status == 429)
    }

    @Test func `who would have to wait to be let in may not watch, and a lock is for those who begin`() async throws {
        let waiting = try await host(token: true) { $0.admit = .moderator }
        #expect(try await ask(waiting, "index.m3u8?token=\(try token(.presenter))").answer.status == 403)
        #expect(try await ask(waiting, "index.m3u8?token=\(try token(.moderator))").answer.status == 200)
        let locked = try await host { $0.locked = true }
        let refused = try await ask(locked, "index.m3u8").answer
        #expect(refused.status == 409 && refused.code == "room_locked")
        #expect(try await ask(locked, "\(Self.stream).m3u8").answer.status == 200)
    }

    @Test func `a room without a stream says how to get one`() async throws {
        let host = try await host()
        let off = try await host.ask(.get, "/hls/other/index.m3u8")
        #expect(off.status == 404)
        host.service.state.withLock { state in
            state.hls["r"] = nil
            state.settings["r"]?.hls = false
        }
        let none = try await ask(host, "index.m3u8")
        #expect(none.answer.status == 404 && none.text.contains(#"{\"hls\": true}"#))
        host.service.state.withLock { $0.settings["r"]?.hls = true }
        let empty = try await ask(host, "index.m3u8").answer
        #expect(empty.status == 503 && empty.code == "no_media" && empty.headers[.retryAfter] == "1")
    }

    @Test func `players' requests do not count as those of programs, and waits are bounded`() async throws {
        let host = try await host()
        let limited = await Host(host.service) { $0.limits.requestsPerSecondPerAddress = 1 }
        for _ in 0..<50 { #expect(try await ask(limited, "\(Self.stream)-s0.m4s").answer.status == 200) }
        let full = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<600 {
                group.addTask {
                    let path = "\(Self.stream).m3u8?_HLS_msn=4&_HLS_part=0"
                    return (try? await ask(host, path).answer.status) ?? 0
                }
            }
            var refused = 0
            for await status in group {
                if status == 503 { refused += 1 }
                if refused == 88 { group.cancelAll() }
            }
            return refused
        }
        #expect(full == 600, "88 at once, and 512 that were given up")
        let limit = limited.endpoints.responder.table.routes.first { $0.path == "/hls/{room}/{file}" }
        #expect(limit?.isStream == true)
    }
}
