package import Basics
import Synchronization

/// What the participants of one room, or of all rooms together, sent and got since the start, past participants
/// included.
///
/// The loops, the audio threads and the compose lanes write it without a lock; the metrics read it on any thread.
package final class MediaQuality: Sendable {
    /// The packets and bytes of one participant's link in a period.
    struct Link: Hashable, Sendable {
        var bytesIn = 0
        var bytesOut = 0
        /// Packets of media that the participant sent, lost ones included, and those of them that were lost.
        var packetsIn = 0
        var lostIn = 0
        /// Packets of media that were sent to the participant, and those of them that it reported as lost.
        var packetsOut = 0
        var lostOut = 0

        /// The growth of each count since `earlier`, and at least zero: reports may take losses back.
        func since(_ earlier: Link) -> Link {
            Link(
                bytesIn: max(0, bytesIn - earlier.bytesIn), bytesOut: max(0, bytesOut - earlier.bytesOut),
                packetsIn: max(0, packetsIn - earlier.packetsIn), lostIn: max(0, lostIn - earlier.lostIn),
                packetsOut: max(0, packetsOut - earlier.packetsOut), lostOut: max(0, lostOut - earlier.lostOut))
        }

        /// The larger of each count, so that a loss that was taken back and reported again counts once.
        func highest(with other: Link) -> Link {
            Link(
                bytesIn: max(bytesIn, other.bytesIn), bytesOut: max(bytesOut, other.bytesOut),
                packetsIn: max(packetsIn, other.packetsIn), lostIn: max(lostIn, other.lostIn),
                packetsOut: max(packetsOut, other.packetsOut), lostOut: max(lostOut, other.lostOut))
        }
    }

    /// The audio samples that the jitter buffers gave, without silence, at 48 kHz, and those of them that were concealed.
    private let playedSamples = Atomic<Int>(0)
    private let concealedSamples = Atomic<Int>(0)
    private let freezes = Atomic<Int>(0)
    private let shownNanoseconds = Atomic<Int64>(0)
    private let frozenNanoseconds = Atomic<Int64>(0)
    private let delayedPictures = Atomic<Int>(0)
    private let delayNanoseconds = Atomic<Int64>(0)
    private let bytesIn = Atomic<Int>(0)
    private let bytesOut = Atomic<Int>(0)
    private let packetsIn = Atomic<Int>(0)
    private let lostIn = Atomic<Int>(0)
    private let packetsOut = Atomic<Int>(0)
    private let lostOut = Atomic<Int>(0)
    /// All rooms together; nil: this is it.
    private let total: MediaQuality?

    init(addingTo total: MediaQuality? = nil) { self.total = total }

    func played(samples: Int, concealed: Int) {
        playedSamples.wrappingAdd(samples, ordering: .relaxed)
        concealedSamples.wrappingAdd(concealed, ordering: .relaxed)
        total?.played(samples: samples, concealed: concealed)
    }

    /// Counts the time for which a camera's picture was shown until the next one came.
    func shown(for time: Duration, isFreeze: Bool) {
        shownNanoseconds.wrappingAdd(time.nanoseconds, ordering: .relaxed)
        if isFreeze {
            freezes.wrappingAdd(1, ordering: .relaxed)
            frozenNanoseconds.wrappingAdd(time.nanoseconds, ordering: .relaxed)
        }
        total?.shown(for: time, isFreeze: isFreeze)
    }

    /// Counts the delays of the pictures that left for a participant. Those of all rooms are in `PictureDelays`.
    func left(_ traces: [PictureTrace], at now: Instant) {
        var (count, sum) = (0, Int64(0))
        for trace in traces {
            for origin in trace.origins {
                count += 1
                sum &+= (now - origin.arrival).nanoseconds
            }
        }
        guard count > 0 else { return }
        delayedPictures.wrappingAdd(count, ordering: .relaxed)
        delayNanoseconds.wrappingAdd(sum, ordering: .relaxed)
    }

    func add(_ link: Link) {
        bytesIn.wrappingAdd(link.bytesIn, ordering: .relaxed)
        bytesOut.wrappingAdd(link.bytesOut, ordering: .relaxed)
        packetsIn.wrappingAdd(link.packetsIn, ordering: .relaxed)
        lostIn.wrappingAdd(link.lostIn, ordering: .relaxed)
        packetsOut.wrappingAdd(link.packetsOut, ordering: .relaxed)
        lostOut.wrappingAdd(link.lostOut, ordering: .relaxed)
        total?.add(link)
    }

    /// The samples of the metrics page.
    ///
    /// - Parameter room: the label of a room's own samples; nil: those of all rooms.
    package func samples(room: String?) -> [MetricSample] {
        func sample(
            _ names: (all: String, room: String), _ help: String, _ value: Double, _ direction: String? = nil
        ) -> MetricSample {
            var labels: [String: String] = [:]
            labels["room"] = room
            labels["direction"] = direction
            return MetricSample(room == nil ? names.all : names.room, help, .counter, value, labels: labels)
        }
        func both(
            _ names: (all: String, room: String), _ help: String, _ counts: (in: Int, out: Int)
        ) -> [MetricSample] {
            [sample(names, help, Double(counts.in), "in"), sample(names, help, Double(counts.out), "out")]
        }
        func count(_ value: borrowing Atomic<Int>) -> Int { value.load(ordering: .relaxed) }
        func seconds(_ value: borrowing Atomic<Int64>) -> Double { Double(value.load(ordering: .relaxed)) / 1e9 }
        return [
            sample(
                ("tessera_audio_played_seconds_total", "tessera_room_audio_played_seconds_total"),
                "Audio that the jitter buffers gave, without silence.", Double(count(playedSamples)) / 48_000),
            sample(
                ("tessera_audio_concealed_seconds_total", "tessera_room_audio_concealed_seconds_total"),
                "Audio that was missing and was concealed.", Double(count(concealedSamples)) / 48_000),
            sample(
                ("tessera_pictures_shown_seconds_total", "tessera_room_pictures_shown_seconds_total"),
                "Time for which pictures of cameras were shown.", seconds(shownNanoseconds)),
            sample(
                ("tessera_pictures_frozen_seconds_total", "tessera_room_pictures_frozen_seconds_total"),
                "Time for which a camera's picture stayed for more than 200 ms.", seconds(frozenNanoseconds)),
            sample(
                ("tessera_picture_freezes_total", "tessera_room_picture_freezes_total"),
                "Pictures of cameras that stayed for more than 200 ms.", Double(count(freezes))),
        ]
            + both(
                ("tessera_media_bytes_total", "tessera_room_media_bytes_total"),
                "Bytes of RTP packets, repair included.", (count(bytesIn), count(bytesOut)))
            + both(
                ("tessera_media_packets_total", "tessera_room_media_packets_total"),
                "RTP packets of media that were sent, lost ones included.", (count(packetsIn), count(packetsOut)))
            + both(
                ("tessera_media_packets_lost_total", "tessera_room_media_packets_lost_total"),
                "RTP packets of media that were lost, before repair.", (count(lostIn), count(lostOut)))
    }

    /// The delays of a room's pictures, as `PictureDelays` has them for all rooms.
    package func delaySamples(room: String) -> [MetricSample] {
        let name = "tessera_room_picture_delay_seconds"
        return [
            ("_sum", Double(delayNanoseconds.load(ordering: .relaxed)) / 1e9),
            ("_count", Double(delayedPictures.load(ordering: .relaxed))),
        ].map { suffix, value in
            var sample = MetricSample(
                name + suffix, "From a frame's arrival to the departure of the first composite that shows it.",
                .summary, value, labels: ["room": room])
            sample.family = name
            return sample
        }
    }
}
