import Basics
import RoomMedia
import Synchronization
import Threads

/// What the metrics read of a room under its lock; the rest has locks of its own or none.
struct RoomReading: Sendable {
    var id: String
    var people: Int
    /// How many recordings run or are paused.
    var recordings: Int
    var isPrivate: Bool
    var engine: RoomEngine
}

/// The samples of one room, or of all those together that have none of their own.
struct RoomSamples {
    /// The label of all other rooms together. No room can have this name.
    static let others = "#other"

    let label: String
    let rooms: [RoomReading]

    init(_ room: RoomReading) {
        label = room.id
        rooms = [room]
    }

    init(others rooms: [RoomReading]) {
        label = Self.others
        self.rooms = rooms
    }

    /// Samples of the rooms' present state, which may be added up.
    func gauges(at now: Instant) -> [MetricSample] {
        var (delays, roundTrips) = (Spread(), Spread())
        var offsets = Spread { abs($0) > abs($1) }
        var estimates = Spread { $0 < $1 }
        for figures in rooms.flatMap({ $0.engine.figures(at: now) }) {
            delays.add(figures.audioDelay?.inSeconds)
            offsets.add(figures.audioVideoOffset?.inSeconds)
            roundTrips.add(figures.roundTrip?.inSeconds)
            estimates.add(figures.estimate.map { Double($0.bitsPerSecond) / 8 })
        }
        let people = MetricSample(
            "tessera_room_participants", "Participants and viewers in a room.", .gauge,
            Double(rooms.reduce(0) { $0 + $1.people }), labels: ["room": label])
        return [people]
            + delays.samples(
                "tessera_room_audio_delay_seconds", "Delay of participants' audio in the jitter buffer.", room: label)
            + offsets.samples(
                "tessera_room_audio_video_offset_seconds",
                "How far participants' audio is ahead of their pictures in the mix.", room: label)
            + roundTrips.samples(
                "tessera_room_round_trip_seconds", "Round trip time to participants.", room: label)
            + estimates.samples(
                "tessera_room_link_estimate_bytes_per_second", "Estimated capacity of the links towards participants.",
                room: label)
            + members
    }

    /// Samples that only grow: of one room.
    func counters() -> [MetricSample] {
        guard let engine = rooms.first?.engine, rooms.count == 1 else { return [] }
        return engine.quality.samples(room: label) + engine.quality.delaySamples(room: label) + encodes
    }

    // MARK: - Renditions

    /// The renditions by label. Of several rooms the names of views are not told apart.
    private var renditions: [(label: RenditionLabel, renditions: [Rendition])] {
        let all = rooms.flatMap { $0.engine.allViews.flatMap(\.allRenditions) }
        let groups = Dictionary(grouping: all) { rendition in
            var label = rendition.label
            if self.label == Self.others, label.view != ViewID.main.name, label.view != RenditionLabel.personal {
                label.view = "named"
            }
            return label
        }
        return groups.sorted {
            ($0.key.view, $0.key.kind, $1.key.height, $0.key.codec.rawValue)
                < ($1.key.view, $1.key.kind, $0.key.height, $1.key.codec.rawValue)
        }.map { ($0.key, $0.value) }
    }

    private func labels(_ label: RenditionLabel) -> [String: String] {
        [
            "room": self.label, "codec": label.codec.rawValue, "height": "\(label.height)", "kind": label.kind,
            "view": label.view,
        ]
    }

    private var members: [MetricSample] {
        renditions.map { label, renditions in
            MetricSample(
                "tessera_rendition_members", "Peers and recordings that take a rendition.", .gauge,
                Double(renditions.reduce(0) { $0 + $1.memberCount }), labels: labels(label))
        }
    }

    private var encodes: [MetricSample] {
        renditions.flatMap { label, renditions -> [MetricSample] in
            guard let counters = renditions.first?.counters else { return [] }
            let labels = labels(label)
            return [
                MetricSample(
                    "tessera_rendition_frames_total", "Frames encoded.", .counter,
                    Double(counters.frames.load(ordering: .relaxed)), labels: labels),
                MetricSample(
                    "tessera_rendition_keyframes_total", "Keyframes encoded.", .counter,
                    Double(counters.keyframes.load(ordering: .relaxed)), labels: labels),
                MetricSample(
                    "tessera_rendition_bytes_total", "Bytes encoded.", .counter,
                    Double(counters.bytes.load(ordering: .relaxed)), labels: labels),
                MetricSample(
                    "tessera_rendition_encode_seconds", "Time of an encode, moving average.", .gauge,
                    renditions.map(\.statistics.encodeTime.inSeconds).max() ?? 0, labels: labels),
            ]
        }
    }
}
