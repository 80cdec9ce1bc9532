import Basics
import Codecs

/// A coded packet, whose bytes stay in the process that decodes it.
///
/// `@unchecked Sendable`: one thread at a time has it. The thread that reads hands it to the one that decodes.
final class InputPacket: @unchecked Sendable {
    let kind: DemuxedPacket.Kind
    let byteCount: Int
    let isKeyframe: Bool
    let duration: Duration
    /// When it is to be decoded, on the source's clock; nil: it has no time.
    let time: Duration?
    /// How its times are to change before it is decoded.
    private(set) var times = DecodingRequest.Times.kept
    private let id: UInt32
    private var isTaken = false
    private let released: Guarded<[UInt32]>

    /// - Parameter released: takes the numbers of packets that are dropped undecoded.
    init(_ packet: SourceReply.Packet, released: Guarded<[UInt32]>) {
        (kind, id, byteCount, isKeyframe) = (packet.kind, packet.id, Int(packet.byteCount), packet.isKeyframe)
        (duration, time, self.released) = (packet.duration, packet.time, released)
    }

    deinit { if !isTaken { released.withLock { $0.append(id) } } }

    /// Moves its times.
    func shift(by time: Duration) { times = .shifted(time) }
    /// Sets the times of a packet that has none.
    func setTime(_ time: Duration) { times = .set(time) }

    /// Gives up the packet: the process forgets it when it decodes it.
    func take() -> DecodingRequest {
        isTaken = true
        return .decode(id, times)
    }
}
