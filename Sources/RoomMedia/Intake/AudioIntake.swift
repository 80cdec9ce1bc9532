import Basics
import Codecs
import Peer
import Synchronization

/// What of a participant's sound is told outside of the audio thread.
package final class AudioFigures: Sendable {
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

    private let inbox: AudioInbox
    private let figures: AudioFigures
    private let soundDelay: SoundDelay
    private var buffer = AudioReceiveBuffer()
    private var decoder: OpusDecoder?
    private var stretcher = TimeStretcher()
    private var packets: [ReceivedAudioPacket] = []
    private var decoded: [Float] = []
    /// What is ready to be played, from `head`.
    private var samples: [Float] = []
    private var head = 0
    private var isQuiet = true
    /// What the last packet brought: the buffer knows the capture time of its first sample.
    private var lastAdded = 0
    /// By how much what is heard lags behind what the tick plays: the sender's Opus look-ahead (RFC 6716 §2: 6.5 ms), which comes
    /// out at the decoder, and the mixer's limiter (2.5 ms).
    private static let processing = Duration.milliseconds(9)

    init(inbox: AudioInbox, figures: AudioFigures, soundDelay: SoundDelay) {
        self.inbox = inbox
        self.figures = figures
        self.soundDelay = soundDelay
    }

    private var ready: Int { samples.count - head }

    /// The 960 samples of the tick at `now`, in `body`; nil when there is nothing to hear. Packets are always taken, muted or not, so that
    /// the buffer stays in step.
    func pull(at now: Instant, into output: inout [Float]) -> Bool {
        inbox.take(into: &packets)
        for packet in packets { buffer.insert(packet) }
        // A tick needs two decodes of 10 ms packets and more while it plays faster; more than that is a fault of ours.
        var isSilent = true
        for _ in 0..<8 {
            guard let playout = buffer.next(at: now, pcmBuffered: ready) else { break }
            if case .silence = playout {} else { isSilent = false }
            play(playout)
        }
        figures.delay.store(buffer.currentDelay.nanoseconds, ordering: .relaxed)
        figures.concealed.store(Int64(buffer.statistics.concealedSamples), ordering: .relaxed)
        let count = min(ready, Self.samplesPerTick)
        guard count > 0 else { return false }
        if let delay = buffer.playoutDelay(at: now, pcmBuffered: max(0, ready - lastAdded)) {
            soundDelay.playing(now - delay - Self.processing, at: now)
            // Where pictures take longer than sound, the sound waits for them.
            buffer.minimumDelay = PictureWait.soundWait(
                picture: soundDelay.pictureDelay(at: now), sound: delay + Self.processing, current: buffer.currentDelay)
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

    private func play(_ playout: AudioPlayout) {
        decoded.removeAll(keepingCapacity: true)
        var tempo = 1.0
        do {
            let decoder = try readyDecoder()
            switch playout {
            case .decode(let packet, let speed):
                tempo = speed
                try decoder.decode(packet.payload, into: &decoded)
            case .decodeFEC(let next, let count): try decoder.decodeFEC(next.payload, samples: count, into: &decoded)
            case .conceal(let count): decoder.conceal(samples: count, into: &decoded)
            case .silence(let count): decoded.append(contentsOf: repeatElement(0, count: count))
            case .reset:
                decoder.reset()
                return
            }
        } catch {
            figures.counters.audioFailures.wrappingAdd(1, ordering: .relaxed)
            decoded.append(contentsOf: repeatElement(0, count: Self.samplesPerTick))
        }
        let before = samples.count
        stretcher.stretch(decoded, tempo: tempo, into: &samples)
        lastAdded = samples.count - before
    }

    private func readyDecoder() throws(CodecError) -> OpusDecoder {
        if let decoder { return decoder }
        let made = try OpusDecoder()
        decoder = made
        return made
    }
}
