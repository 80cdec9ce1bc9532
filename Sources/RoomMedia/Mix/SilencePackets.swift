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
    /// More codings than the rooms of a server use at once: receivers may ask for any rate, and what is beyond is
    /// encoded.
    static let mostCodings = 64
    /// The ticks after which a loop that nobody plays gives way to another coding's.
    static let rest = 250

    private struct Growing {
        var coding: AudioCoding
        var encoder: OpusEncoder
        var packets: [[UInt8]] = []
    }

    private struct Loop {
        let packets: [[UInt8]]
        var lastPlayed: Int
    }

    private var loops: [AudioCoding: Loop] = [:]
    private var tick = 0
    private var wanted: [AudioCoding] = []
    private var growing: Growing?

    /// The packet of this position of the coding's loop; nil while there is none, and then it is made.
    func packet(_ coding: AudioCoding, _ position: Int) -> [UInt8]? {
        if let loop = loops[coding] {
            loops[coding]?.lastPlayed = tick
            return loop.packets[position % loop.packets.count]
        }
        if wanted.count < Self.mostCodings, growing?.coding != coding, !wanted.contains(coding) {
            wanted.append(coding)
        }
        return nil
    }

    /// Ends a tick: makes one more packet of a loop that is wanted, at most one encode.
    func grow() {
        tick += 1
        if growing == nil, !wanted.isEmpty, makePlace() {
            let coding = wanted.removeFirst()
            growing = (try? coding.makeEncoder()).map { Growing(coding: coding, encoder: $0) }
        }
        guard let encoder = growing?.encoder, let coding = growing?.coding else { return }
        let silence = [Float](repeating: 0, count: OpusEncoder.frameSize * coding.ticksPerPacket)
        guard let packet = try? encoder.encode(silence) else { return growing = nil }
        growing?.packets.append(packet)
        guard let packets = growing?.packets, packets.count == Self.settling + Self.length else { return }
        loops[coding] = Loop(packets: Array(packets[Self.settling...]), lastPlayed: tick)
        growing = nil
    }

    /// Whether there is place for one more loop; the one that was played longest ago may give way for it. Where all are
    /// played, nobody is made to wait for one: what is wanted is forgotten, and asked for again.
    private func makePlace() -> Bool {
        if loops.count < Self.mostCodings { return true }
        guard let oldest = loops.min(by: { $0.value.lastPlayed < $1.value.lastPlayed }),
            tick - oldest.value.lastPlayed > Self.rest
        else {
            wanted = []
            return false
        }
        loops[oldest.key] = nil
        return true
    }
}
