import Basics
import Codecs
import Peer
import TestSupport

@testable import RoomMedia

/// A participant of an `AudioRoom` whose peer sends a tone, a packet of 20 ms a tick.
final class Talker {
    let inbox: AudioInbox
    private let counters: IntakeCounters
    private let encoder: OpusEncoder
    private let frequency: Double

    init(
        tone frequency: Double, application: OpusEncoder.Application = .audio,
        counters: IntakeCounters = IntakeCounters()
    ) throws {
        self.frequency = frequency
        self.counters = counters
        inbox = AudioInbox(counters: counters)
        encoder = try OpusEncoder(bitRate: .kilobits(64), application: application)
    }

    /// The talker's seat in a room.
    func seat(_ id: String) -> AudioRoom.Seat { .init(id, inbox: inbox, counters: counters) }

    /// Sends the packet of a tick, which arrives 1 ms before it.
    ///
    /// - Parameter level: the level that the packet announces, computed from the samples.
    func send(tick: Int, amplitude: Float, level: ([Float]) -> UInt8? = { _ in nil }) throws {
        let samples = sine(frequency, from: tick * 960, count: 960, amplitude: amplitude)
        let arrival = AudioRoom.time(ofTick: tick) - .milliseconds(1)
        inbox.post(
            ReceivedAudioPacket(
                payload: try encoder.encode(samples), sequence: Int64(tick), timestamp: Int64(tick) * 960,
                marker: false, level: level(samples), captureTime: arrival, arrival: arrival, ssrc: 1))
    }
}

extension AudioRoom {
    /// Ticks of a test begin at 1 s.
    static func time(ofTick tick: Int) -> Instant { .zero + .seconds(1) + .milliseconds(20) * tick }

    /// Runs a tick, and returns what it delivers.
    func run(tick: Int) -> [AudioDelivery] {
        var deliveries: [AudioDelivery] = []
        self.tick(Self.time(ofTick: tick), into: &deliveries)
        return deliveries
    }
}

extension AudioRoom.Seat {
    /// The seat of a participant that sends nothing unless its inbox is given.
    init(_ id: String, inbox: AudioInbox = AudioInbox(), counters: IntakeCounters = IntakeCounters()) {
        self.init(
            intake: AudioIntake(
                inbox: inbox, statistics: AudioIntakeStatistics(counters: counters), audioDelay: AudioDelay()),
            hearsAs: id)
    }
}
