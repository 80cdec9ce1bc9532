import Basics
import RoomMedia
import Streaming
import TestSupport
import Testing
import Threads

@testable import Conference

@Suite("Rooms that are streamed by HLS", .serialized)
struct HLSRealTimeTests {
    private func withRoom(_ body: (Conference) async throws -> Void) async throws {
        try await withConference { settings in
            settings.rooms.settings.width = 320
            settings.rooms.settings.height = 180
            settings.rooms.create = .api
            settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
        } _: { conference in
            var change = RoomSettingsChange()
            change.hls = true
            try conference.rooms.create("r", change)
            try await body(conference)
        }
    }

    private func stream(_ conference: Conference) throws -> HLSStream? {
        try conference.streams.hls(AdmittedJoin(room: "r", name: "HLS"), isNew: true)
    }

    @Test("it runs while somebody is in the room, rests otherwise, and goes on as the same stream")
    func runs() async throws {
        try await withRoom { conference in
            #expect(try stream(conference) == nil)
            let ann = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            #expect(ann.access.hls)
            let first = try #require(try stream(conference))
            #expect(await eventually { first.window.playlist(query: "").contains("#EXT-X-PART:") })
            #expect(conference.rooms.room("r")?.renditions.map(\.members) == [1], "one encode")
            #expect(try await conference.recordings.start("r").state == .recording)
            #expect(conference.rooms.room("r")?.renditions.map(\.members) == [2], "still one")
            try await conference.recordings.stop(conference.recordings.list()[0].id)
            ann.leave()
            #expect(conference.registry["r"]?.engine.isRunning == false)
            let parts = first.window.playlist(query: "").matches(of: #/EXT-X-PART:/#).count
            try await Task.sleep(for: .seconds(1))
            #expect(first.window.playlist(query: "").matches(of: #/EXT-X-PART:/#).count <= parts + 1)
            _ = try conference.join(AdmittedJoin(room: "r", name: "Bo")) { _ in }
            #expect(try stream(conference)?.id == first.id)
            #expect(
                await eventually {
                    let text = first.window.playlist(query: "")
                    return text.contains("#EXT-X-DISCONTINUITY\n") && text.contains("INDEPENDENT=YES")
                })
        }
    }

    @Test("another size of the picture is a discontinuity, and turning it off ends the stream")
    func changes() async throws {
        try await withRoom { conference in
            _ = try conference.join(AdmittedJoin(room: "r", name: "Ann")) { _ in }
            let first = try #require(try stream(conference))
            #expect(await eventually { first.window.playlist(query: "").contains("#EXT-X-PART:") })
            var change = RoomSettingsChange()
            (change.width, change.height) = (640, 360)
            try conference.rooms.update("r", change)
            #expect(
                await eventually {
                    first.window.multivariant(query: "", videoRate: .zero)?.contains("RESOLUTION=640x360") == true
                })
            #expect(first.window.playlist(query: "").contains("#EXT-X-DISCONTINUITY\n"))
            async let next = first.playlist(segment: 3, part: 0)
            change = RoomSettingsChange()
            change.hls = false
            try conference.rooms.update("r", change)
            _ = await next
            #expect(await eventually { first.window.isEnded })
            #expect(try stream(conference) == nil)
            #expect(conference.rooms.room("r")?.renditions.isEmpty == true)
        }
    }

    @Test("the rules of joins are those of watching")
    func doors() async throws {
        try await withRoom { conference in
            var request = AdmittedJoin(room: "r", name: "HLS")
            request.roleIsProven = false
            var change = RoomSettingsChange()
            change.pin = "2718"
            try conference.rooms.update("r", change)
            #expect(throws: ConferenceError.pinRequired("r")) { try conference.streams.hls(request, isNew: false) }
            request.pin = "1111"
            #expect(throws: ConferenceError.wrongPIN("r")) { try conference.streams.hls(request, isNew: false) }
            request.pin = "2718"
            #expect(try conference.streams.hls(request, isNew: true) == nil)
            change.locked = true
            try conference.rooms.update("r", change)
            #expect(throws: ConferenceError.roomLocked("r")) { try conference.streams.hls(request, isNew: true) }
            #expect(try conference.streams.hls(request, isNew: false) == nil)
            (change.locked, change.admit) = (false, .moderator)
            try conference.rooms.update("r", change)
            #expect(throws: ConferenceError.mustWait("r")) { try conference.streams.hls(request, isNew: false) }
            (request.roleIsProven, request.role, request.pin) = (true, .moderator, nil)
            #expect(try conference.streams.hls(request, isNew: true) == nil)
            request.room = "other"
            #expect(throws: ConferenceError.roomNotFound("other")) { try conference.streams.hls(request, isNew: true) }
        }
    }
}
