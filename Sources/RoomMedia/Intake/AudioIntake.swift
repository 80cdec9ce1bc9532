import Basics
import Codecs
import Glibc
import Peer
import Synchronization

/// What of a participant's sound is told outside of the audio thread.
package final class AudioIntakeStatistics: Sendable {
    package let delay = Atomic<Int64>(0)
    /// Samples at 48 kHz.
    package let concealed = Atomic<Int64>(0)
    let counters: IntakeCounters

    init(counters: IntakeCounters = IntakeCounters()) { self.counters = counters }
}

/// From one participant's Opus packets to 20 ms of sound each tick. Confined to the audio thread.
final class AudioIntake {
    private static let samplesPerTick = 960
    /// Concealment that goes on for longer is silence, which needs no place in the mix.
    private static let silenceAfter = Duration.milliseconds(300)
    /// Somebody who is not to be heard any more is decoded for so long: the mixer ramps down over a tick.
    private static let fade = Duration.milliseconds(100)

    private let inbox: AudioInbox
    private let statistics: AudioIntakeStatistics
    private let audioDelay: AudioDelay
    private var buffer = AudioReceiveBuffer()
    private var decoder: OpusDecoder?
    private var stretcher = TimeStretcher()
    private var packets: [ReceivedAudioPacket] = []
    private var decoded: [Float] = []
    /// What is ready to be played, from `head`.
    private var samples: [Float] = []
    private var head = 0
    private var isQuiet = true
    private var rest = AudioRest()
    private var wasDecoding = false
    private var lastAudible = Instant.distantPast
    /// What the last packet brought: the buffer knows the capture time of its first sample.
    private var lastAdded = 0
    /// By how much what is heard lags behind what the tick plays: the sender's Opus look-ahead (RFC 6716 §2: 6.5 ms),
    /// which comes out at the decoder, and the mixer's limiter (2.5 ms).
    private static let processing = Duration.milliseconds(9)

    init(inbox: AudioInbox, statistics: AudioIntakeStatistics, audioDelay: AudioDelay) {
        self.inbox = inbox
        self.statistics = statistics
        self.audioDelay = audioDelay
    }

    private var ready: Int { samples.count - head }

    /// Takes what has come, for `rating` and `pull`.
    ///
    /// - Parameter gain: by how much the room makes it louder: then what says to be quiet may be heard.
    func collect(at now: Instant, gain: Float = 1) {
        inbox.take(into: &packets)
        let boost = gain > 1 ? 20 * log10(Double(gain)) : 0
        for packet in packets {
            rest.received(level: packet.level.map { UInt8(clamping: Int(Double($0) - boost)) }, at: now)
            buffer.insert(packet)
        }
    }

    /// How loud its packets say that they are, in dBov; nil where they say nothing, so that they must be decoded.
    func rating(at now: Instant) -> Double? { rest.rating(at: now) }

    /// The 960 samples of the tick at `now`, into `output`; false when there is nothing to hear. Packets are always
    /// taken, muted or not, so that the buffer stays in step; they are not decoded where nobody would hear them.
    ///
    /// - Parameter isAudible: false: nobody is to hear it, whatever it says.
    func pull(at now: Instant, isAudible: Bool = true, into output: inout [Float]) -> Bool {
        if isAudible { lastAudible = now }
        // Who has just been muted fades out first.
        let isAudible = now - lastAudible <= Self.fade
        let mayRest = rest.rests(at: now) || !isAudible
        if wasDecoding, mayRest { decoder?.reset() }
        wasDecoding = !mayRest
        let isHeard = isAudible && !rest.isResting
        // A tick needs two decodes of 10 ms packets and more while it plays faster; more than that is a fault of ours.
        var isSilent = true
        for _ in 0..<8 {
            guard let playout = buffer.next(at: now, pcmBuffered: ready) else { break }
            if case .silence = playout {} else if isHeard { isSilent = false }
            if mayRest { skip(playout) } else { play(playout) }
        }
        statistics.delay.store(buffer.currentDelay.nanoseconds, ordering: .relaxed)
        statistics.concealed.store(Int64(buffer.statistics.concealedSamples), ordering: .relaxed)
        let count = min(ready, Self.samplesPerTick)
        guard count > 0 else { return false }
        if let delay = buffer.playoutDelay(at: now, pcmBuffered: max(0, ready - lastAdded)) {
            audioDelay.playing(now - delay - Self.processing, at: now)
            // Where pictures take longer than sound, the sound waits for them.
            buffer.minimumDelay = LipSyncDelay.audioWait(
                picture: audioDelay.pictureDelay(at: now), audio: delay + Self.processing, current: buffer.currentDelay)
        }
        output.removeAll(keepingCapacity: true)
        output.append(contentsOf: samples[head..<head + count])
        output.append(contentsOf: repeatElement(0, count: Self.samplesPerTick - count))
        head += count
        if head > 9600 || head == samples.count {
            samples.removeFirst(head)
            head = 0
        }
        let wasSilent = isQuiet
        isQuiet = isSilent || buffer.concealedDuration > Self.silenceAfter
        // One more tick after the last sound: what the stretcher left over.
        return !(isQuiet && wasSilent)
    }

    /// As long a silence as what would be played.
    private func skip(_ playout: AudioPlayout) {
        var count = 0
        switch playout {
        case .decode(let packet, _):
            count = OpusDecoder.sampleCount(of: packet.payload) ?? Self.samplesPerTick
            statistics.counters.restedAudioPackets.wrappingAdd(1, ordering: .relaxed)
        case .decodeFEC(_, let samples), .conceal(let samples), .silence(let samples): count = samples
        case .reset: return
        }
        decoded.removeAll(keepingCapacity: true)
        decoded.append(contentsOf: repeatElement(0, count: count))
        append(tempo: playout.tempo)
    }

    private func append(tempo: Double) {
        let before = samples.count
        stretcher.stretch(decoded, tempo: tempo, into: &samples)
        lastAdded = samples.count - before
    }

    private func play(_ playout: AudioPlayout) {
        decoded.removeAll(keepingCapacity: true)
        do {
            let decoder = try readyDecoder()
            switch playout {
            case .decode(let packet, _):
                try decoder.decode(packet.payload, into: &decoded)
                if rest.isResting {
                    // Decoded to be looked at, not to be heard.
                    rest.audited(decoded)
                    decoded.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
                }
            case .decodeFEC(let next, let count): try decoder.decodeFEC(next.payload, samples: count, into: &decoded)
            case .conceal(let count): decoder.conceal(samples: count, into: &decoded)
            case .silence(let count): decoded.append(contentsOf: repeatElement(0, count: count))
            case .reset:
                decoder.reset()
                return
            }
        } catch {
            statistics.counters.audioFailures.wrappingAdd(1, ordering: .relaxed)
            decoded.append(contentsOf: repeatElement(0, count: Self.samplesPerTick))
        }
        append(tempo: playout.tempo)
    }

    private func readyDecoder() throws(CodecError) -> OpusDecoder {
        if let decoder { return decoder }
        let made = try OpusDecoder()
        decoder = made
        return made
    }
}

extension AudioPlayout {
    /// How much faster than it was said it is played.
    fileprivate var tempo: Double { if case .decode(_, let tempo) = self { tempo } else { 1 } }
}
