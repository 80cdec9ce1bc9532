import Basics
import Codecs

/// The Opus packets of silence, which all rooms of an audio thread share: a mix in which nobody is heard needs no
/// encoder of its own, so that a room with one participant, or one where nobody speaks, costs no encode.
///
/// An encoder that has had silence for a while goes round through a few packets. For each coding one encoder makes a
/// loop of them, a packet in each tick, and is gone then. The loops are played from any packet on: what a decoder makes
/// of them lies 90 dB below full scale, whether it is new or has just heard speech. Confined to the audio thread.
final class SilencePackets {
    /// The packets that an encoder needs until its state is that of silence.
    private static let settling = 50
    /// A multiple of the four packets through which speech coding goes, and of the 21 from one refreshment to the next
    /// with DTX.
    private static let length = 84
    /// More codings than the rooms of a server use: receivers may ask for any rate. Beyond it the loop that was played
    /// longest ago makes way; what is asked for while all are played is encoded.
    private static let mostCodings = 64
    /// After so many ticks without a packet, which are a second, a loop is not played any more, and a coding is not
    /// wanted any more.
    private static let longestPause = 50

    private struct Growing {
        var coding: AudioCoding
        var encoder: OpusEncoder
        var packets: [[UInt8]] = []
    }

    private struct Loop {
        var packets: [[UInt8]]
        /// The tick of its last packet.
        var played: Int
    }

    private var loops: [AudioCoding: Loop] = [:]
    /// The codings without a loop, in the order of their first requests, with the ticks of the last ones.
    private var wanted: [(coding: AudioCoding, asked: Int)] = []
    private var growing: Growing?
    private var tick = 0

    /// The packet of this position of the coding's loop; nil while there is none, and then it is made.
    func packet(_ coding: AudioCoding, _ position: Int) -> [UInt8]? {
        if let index = loops.index(forKey: coding) {
            loops.values[index].played = tick
            let packets = loops.values[index].packets
            return packets[position % packets.count]
        }
        if let index = wanted.firstIndex(where: { $0.coding == coding }) {
            wanted[index].asked = tick
        } else if growing?.coding != coding, wanted.count < Self.mostCodings {
            wanted.append((coding: coding, asked: tick))
        }
        return nil
    }

    /// Ends a tick: makes one more packet of a loop that is wanted, so that a tick has at most one encode.
    func grow() {
        tick += 1
        wanted.removeAll { tick - $0.asked > Self.longestPause }
        if growing == nil, !wanted.isEmpty, makePlace() {
            let coding = wanted.removeFirst().coding
            growing = (try? coding.makeEncoder()).map { Growing(coding: coding, encoder: $0) }
        }
        guard let encoder = growing?.encoder, let coding = growing?.coding else { return }
        let silence = [Float](repeating: 0, count: OpusEncoder.frameSize * coding.ticksPerPacket)
        guard let packet = try? encoder.encode(silence) else { return growing = nil }
        growing?.packets.append(packet)
        guard let packets = growing?.packets, packets.count == Self.settling + Self.length else { return }
        loops[coding] = Loop(packets: Array(packets[Self.settling...]), played: tick)
        growing = nil
    }

    /// Forgets the loop that was played longest ago where there is no place for another. Returns false where all are
    /// played.
    private func makePlace() -> Bool {
        guard loops.count >= Self.mostCodings else { return true }
        guard let oldest = loops.min(by: { $0.value.played < $1.value.played }),
            tick - oldest.value.played > Self.longestPause
        else { return false }
        loops[oldest.key] = nil
        return true
    }
}
