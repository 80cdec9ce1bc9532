import Basics
import Foundation
import Recording
import RoomMedia
import TestSupport
import Testing

@testable import Conference

@Suite("The timeline of a recorded meeting", .serialized)
struct RecordingTimelineRealTimeTests {
    @Test("joins, leaves, speech, layouts and marks of a meeting are in its timeline, and viewers are not")
    func meeting() async throws {
        try await withConference { settings in
            settings.rooms.settings.width = 320
            settings.rooms.settings.height = 180
            settings.video.renditions = [.init(height: 180, bitRate: .kilobits(150))]
        } _: { conference in
            func join(_ name: String, _ role: Role = .participant) throws -> Participant {
                var request = AdmittedJoin(
                    room: "r", name: name, role: role, kind: role == .viewer ? .viewer : .participant)
                request.roleIsProven = false
                return try conference.join(request) { _ in }
            }
            let ann = try join("Ann")
            #expect(throws: ConferenceError.self) { try ann.mark("nothing is recorded") }
            try await ann.record(.start)
            let id = try #require(ann.recording?.id)
            #expect(throws: ConferenceError.self) { try conference.recordings.timelinePath(of: "none", asText: false) }
            try await Task.sleep(for: .seconds(1.5))
            let bob = try join("Bob")
            let dee = try join("Dee", .viewer)
            for speaking in [[bob.id], [String]()] {
                try conference.roomService.change("r") { slot throws(ConferenceError) in
                    slot.room.speakers(Speakers(active: nil, ranks: [], speaking: Set(speaking), loudest: []))
                }
                try await Task.sleep(for: .seconds(0.7))
            }
            try bob.mark("  The vote ")
            for text in ["", " \n", "two\nlines", String(repeating: "x", count: 201)] {
                #expect { try bob.mark(text) } throws: { ($0 as? ConferenceError)?.kind == "badRequest" }
            }
            #expect { try dee.mark("viewers may not") } throws: { ($0 as? ConferenceError)?.kind == "forbidden" }
            try ann.setLayout("speaker", scope: .room, pins: nil)
            bob.leave()
            let error = #expect(throws: ConferenceError.self) {
                for number in 0..<20 { try conference.recordings.mark(id, "mark \(number)") }
            }
            #expect(error?.kind == "tooFast", "\(String(describing: error))")
            try await Task.sleep(for: .seconds(0.5))
            let ended = try await conference.recordings.stop(id)
            let path = try conference.recordings.timelinePath(of: id, asText: false)
            let timeline = try JSONDecoder().decode(
                RecordingTimeline.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(timeline.participants.map(\.name) == ["Ann", "Bob"])
            let stay = try #require(timeline.participants.last)
            #expect(stay.joined > 1 && stay.left > stay.joined + 1 && stay.left < timeline.duration, "\(stay)")
            #expect(timeline.speakers.map(\.name) == ["Bob"])
            #expect(timeline.layouts.map(\.name) == ["grid", "speaker"])
            let titles = timeline.chapters.map(\.title)
            #expect(titles.prefix(3) == ["Start", "Bob joined", "The vote"], "\(titles)")
            #expect(titles.contains("Bob left") && titles.contains("mark 3") && !titles.contains("mark 19"))
            #expect(ended.state == .finished)
            let text = try String(
                contentsOfFile: conference.recordings.timelinePath(of: id, asText: true), encoding: .utf8)
            #expect(text.hasPrefix("WEBVTT") && text.contains("<v Bob>Bob"))
        }
    }
}
