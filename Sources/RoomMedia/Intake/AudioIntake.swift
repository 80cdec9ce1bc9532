import Basics
import Codecs
import Glibc
import Peer
package import Synchronization

/// The audio thread's counts of one participant, for readers on other threads.
package final class AudioIntakeStatistics: Sendable {
    /// Of the jitter buffer, in nanoseconds.
    package let delay = Atomic<Int64>(0)
    /// Samples at 48 kHz.
    package let concealed = Atomic<Int64>(0)
    let counters: IntakeCounters
    /// The room's; nil: nobody reads it.
    private let quality: MediaQuality?

    init(counters: IntakeCounters = IntakeCounters(), quality: MediaQuality? = nil) {
        self.counters = counters
        self.quality = quality
    }

    func played(samples: Int, concealed: Int) { quality?.played(samples: samples, concealed: concealed) }
}

/// Turns one participant's Opus packets into 20 ms of audio each tick. Confined to the audio thread.
final class AudioIntake {
    private static let samplesPerTick = 960
    /// Concealment that lasts longer than this is silence, which needs no place in the mix.
    private static let silenceAfter = Duration.milliseconds(300)
    /// A participant who has just become inaudible is decoded for this much longer: the mixer ramps down over a tick.
    private static let fade = Duration.milliseconds(100)

    private let inbox: AudioInbox
    private let statistics: AudioIntakeStatistics
    private let audioDelay: AudioDelay
    private var buffer = AudioReceiveBuffer()
    private var decoder: OpusDecoder?
    private var stretcher = TimeStretcher()
    private var packets: [ReceivedAudioPacket] = []
    private var decoded: [Float] = []
    /// Samples that are ready to be played, from `head` on.
    private var samples: [Float] = []
    private var head = 0
    private var isQuiet = true
    /// Whether the last tick had sound, mixed or not.
    private(set) var hasSound = false
    /// Whether the last tick took packets: one tick later the stretcher's remainder comes.
    private var hadPackets = false
    private var isForTrack = false
    private var rest = AudioSuspension()
    private var wasDecoding = false
    private var lastAudible = Instant.distantPast
    /// Samples that were played, silence included.
    private var played = 0
    /// Those without silence, and the concealed ones, that the room's quality has: it gets them once a second.
    private var counted = (played: 0, concealed: 0)
    /// Samples of the last packet: the buffer knows the capture time of the first of them.
    private var lastAdded = 0
    /// The delay between the sample that a tick plays and the same sample in the mix: the sender's Opus look-ahead (RFC
    /// 6716 §2: 6.5 ms), which the decoder outputs, and the mixer's limiter (2.5 ms).
    private static let processing = Duration.milliseconds(9)

    init(inbox: AudioInbox, statistics: AudioIntakeStatistics, audioDelay: AudioDelay) {
        self.inbox = inbox
        self.statistics = statistics
        self.audioDelay = audioDelay
    }

    /// The delay of the audio that is played at `now`; nil: there has been none for half a second.
    func captureDelay(at now: Instant) -> Duration? { audioDelay.current(at: now) }

    private var ready: Int { samples.count - head }

    /// Takes the packets that have arrived, for `rating` and `pull`.
    ///
    /// - Parameter gain: the room's amplification of this participant: above 1, packets whose level says quiet may be
    ///   audible.
    func collect(at now: Instant, gain: Float = 1) {
        inbox.take(into: &packets)
        let boost = gain > 1 ? 20 * log10(Double(gain)) : 0
        for packet in packets {
            rest.received(level: packet.level.map { UInt8(clamping: Int(Double($0) - boost)) }, at: now)
            buffer.insert(packet)
        }
    }

    /// The recent level of the packets by their own header (RFC 6464), in dBov; nil where they carry none, so that they
    /// must be decoded.
    func rating(at now: Instant) -> Double? { rest.rating(at: now) }

    /// Writes the 960 samples of the tick at `now` into `output`; returns false when they are silence. Packets are
    /// always taken, muted or not, so that the buffer stays in step; inaudible ones are not decoded.
    ///
    /// - Parameters:
    ///   - isAudible: false: the participant is not mixed, whatever its level.
    ///   - decodesAlways: whether inaudible packets are decoded too. `hasSound` says whether `output` has them; the
    ///     result is about the mix.
    func pull(
        at now: Instant, isAudible: Bool = true, decodesAlways: Bool = false, into output: inout [Float]
    ) -> Bool {
        hasSound = false
        if isAudible { lastAudible = now }
        // A participant who has just been muted fades out first.
        let isAudible = now - lastAudible <= Self.fade
        let mayRest = (rest.updateRest(at: now) || !isAudible) && !decodesAlways
        if wasDecoding, mayRest { decoder?.reset() }
        wasDecoding = !mayRest
        let isHeard = isAudible && !rest.isResting
        // A tick needs two decodes of 10 ms packets, and more while it plays faster; eight is a bound against a fault
        // of ours.
        var isSilent = true
        isForTrack = decodesAlways
        var hasPackets = false
        for _ in 0..<8 {
            guard let playout = buffer.next(at: now, pcmBuffered: ready) else { break }
            if case .silence = playout {
            } else {
                hasPackets = true
                if isHeard { isSilent = false }
            }
            if mayRest { skip(playout) } else { play(playout) }
        }
        statistics.delay.store(buffer.currentDelay.nanoseconds, ordering: .relaxed)
        statistics.concealed.store(Int64(buffer.statistics.concealedSamples), ordering: .relaxed)
        let count = min(ready, Self.samplesPerTick)
        countPlayed(count)
        guard count > 0 else { return false }
        if let delay = buffer.playoutDelay(at: now, pcmBuffered: max(0, ready - lastAdded)) {
            audioDelay.playing(now - delay - Self.processing, at: now)
            // Where pictures take longer than audio, the jitter buffer delays the audio.
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
        hasSound = decodesAlways && (hasPackets || hadPackets)
        hadPackets = hasPackets
        let wasSilent = isQuiet
        isQuiet = isSilent || buffer.concealedDuration > Self.silenceAfter
        // One more tick after the last audible one: the stretcher's remainder.
        return !(isQuiet && wasSilent)
    }

    /// Silence does not count, since of those who only listen there is nothing else.
    private func countPlayed(_ count: Int) {
        played += count
        let sounding = played - buffer.statistics.silentSamples
        guard sounding - counted.played >= 48_000 else { return }
        let concealed = buffer.statistics.concealedSamples
        statistics.played(samples: sounding - counted.played, concealed: concealed - counted.concealed)
        counted = (sounding, concealed)
    }

    /// Appends silence of the same length as the playout's audio.
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
                    // Decoded to check the announced levels, not to be heard.
                    rest.verify(decoded)
                    if !isForTrack { decoded.withUnsafeMutableBufferPointer { $0.update(repeating: 0) } }
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
    /// The playback speed relative to the captured speech.
    fileprivate var tempo: Double { if case .decode(_, let tempo) = self { tempo } else { 1 } }
}
