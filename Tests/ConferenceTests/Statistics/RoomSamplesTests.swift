import Basics
import TestSupport
import Testing
import Threads

@testable import Conference
@testable import RoomMedia

@Suite("The samples by room", .serialized)
struct RoomSamplesTests {
    private func join(_ conference: Conference, _ room: String, _ count: Int) throws {
        for _ in 0..<count { _ = try conference.join(AdmittedJoin(room: room, name: "Ann")) { _ in } }
    }

    private func people(_ samples: [MetricSample]) -> [String: Double] {
        Dictionary(
            uniqueKeysWithValues: samples.filter { $0.name == "tessera_room_participants" }.map {
                ($0.labels["room"] ?? "", $0.value)
            })
    }

    /// Prometheus takes one sample of each name and labels, and warns of others.
    private func expectNoDuplicates(_ samples: [MetricSample]) {
        struct Key: Hashable {
            var name: String
            var labels: [String: String]
        }
        let counts = Dictionary(grouping: samples) { Key(name: $0.name, labels: $0.labels) }
        #expect(counts.filter { $0.value.count > 1 }.keys.map(\.name).isEmpty)
    }

    @Test("the busiest rooms have their own, all others have one together")
    func others() async throws {
        try await withConference({ $0.roomsInMetrics = 2 }) { conference in
            for (room, count) in [("a", 1), ("b", 3), ("c", 2), ("d", 1)] { try join(conference, room, count) }
            let samples = conference.metrics()
            #expect(people(samples) == ["b": 3, "c": 2, RoomSamples.others: 2])
            #expect(samples.first { $0.name == "tessera_rooms_with_series" }?.value == 2)
            #expect(!Names.isRoom(RoomSamples.others))
            let growing = samples.filter { $0.kind != .gauge && $0.labels["room"] != nil }
            #expect(Set(growing.map { $0.labels["room"] }) == ["b", "c"], "a sum that shrinks is no counter")
            expectNoDuplicates(samples)
            try conference.rooms.end("b")
            #expect(people(conference.metrics()) == ["a": 1, "c": 2, RoomSamples.others: 1])
            for room in ["a", "d"] { try conference.rooms.end(room) }
            #expect(people(conference.metrics()) == ["c": 2])
        }
    }

    @Test("without rooms of their own all are together")
    func none() async throws {
        try await withConference({ $0.roomsInMetrics = 0 }) { conference in
            try join(conference, "a", 2)
            try join(conference, "b", 1)
            let samples = conference.metrics()
            #expect(people(samples) == [RoomSamples.others: 3])
            #expect(Set(samples.compactMap { $0.labels["room"] }) == [RoomSamples.others])
        }
    }

    @Test("private rooms are among the others for those who may not know their people")
    func privateRooms() async throws {
        try await withConference { conference in
            try join(conference, "open", 1)
            try join(conference, "board", 2)
            var change = RoomSettingsChange()
            change.admit = .moderator
            try conference.rooms.update("board", change)
            #expect(people(conference.metrics()) == ["open": 1, "board": 2])
            let outside = conference.metrics(namesPrivateRooms: false)
            #expect(people(outside) == ["open": 1, RoomSamples.others: 2])
            #expect(!outside.contains { $0.labels.values.contains("board") })
        }
    }

    @Test("the number of samples has a bound, and 200 rooms of five are read in little time")
    func bounds() async throws {
        try await withConference({ settings in
            (settings.limits.rooms, settings.limits.roomsPerAddress) = (200, 200)
            (settings.limits.seats, settings.limits.seatsPerAddress) = (1000, 1000)
        }) { conference in
            for room in 0..<200 { try join(conference, "room \(room)", 5) }
            _ = conference.metrics()
            let start = MonotonicClock.now()
            let samples = conference.metrics()
            let took = MonotonicClock.now() - start
            #expect(samples.count { $0.labels["room"] != nil } <= 51 * 40)
            #expect(Set(samples.compactMap { $0.labels["room"] }).count == 51)
            // A hundredth of this on an idle machine; a lock that waits for media would take longer still.
            #expect(took < .seconds(1), "\(took)")
            expectNoDuplicates(samples)
        }
    }
}
