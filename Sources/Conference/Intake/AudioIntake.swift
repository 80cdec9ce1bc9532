import Basics
import Codecs
import Peer
import Synchronization

/// What of a participant's sound is told outside of the audio thread.
final class AudioFigures: Sendable {
    let delay = Atomic<Int64>(0)
    let concealed = Atomic<Int64>(0)
    let failures = Atomic<Int>(0)
}

/// From one participant's Opus packets to 20 ms of sound each tick. Confined to the audio thread.
final class AudioIntake {
    private static let samplesPerTick = 960
    /// Sound that never stops being concealed is silence.
    private static let silenceAfter = Duration.seconds(1)

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
    /// The capture time of the end of `samples`.
    private var captureEnd: Instant?

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
        var isSilent = false
        // A tick needs two decodes of 10 ms packets and more while it plays faster; more than that is a fault of ours.
        for _ in 0..<8 where ready < Self.samplesPerTick {
            guard let playout = buffer.next(at: now, pcmBuffered: ready) else {
                isSilent = true
                break
            }
            play(playout)
        }
        figures.delay.store(buffer.currentDelay.nanoseconds, ordering: .relaxed)
        figures.concealed.store(buffer.statistics.concealed.nanoseconds, ordering: .relaxed)
        if ready == 0, isSilent { return false }
        if let captureEnd { soundDelay.playing(captureEnd - Self.duration(ready), at: now) }
        output.removeAll(keepingCapacity: true)
        let count = min(ready, Self.samplesPerTick)
        output.append(contentsOf: samples[head..<head + count])
        // The last samples before silence fade rather than break off.
        if count < Self.samplesPerTick {
            for index in 0..<count { output[index] *= 1 - Float(index + 1) / Float(count) }
            output.append(contentsOf: repeatElement(0, count: Self.samplesPerTick - count))
            captureEnd = nil
        }
        head += count
        if head > 9600 || head == samples.count {
            samples.removeFirst(head)
            head = 0
        }
        return true
    }

    private func play(_ playout: AudioPlayout) {
        decoded.removeAll(keepingCapacity: true)
        do {
            let decoder = try readyDecoder()
            switch playout.action {
            case .decode(let packet):
                try decoder.decode(packet.payload, into: &decoded)
                captureEnd = packet.captureTime + Self.duration(decoded.count)
            case .decodeFEC(let next, let count):
                try decoder.decodeFEC(next.payload, samples: count, into: &decoded)
                captureEnd = next.captureTime
            case .conceal(let count):
                decoder.conceal(samples: count, into: &decoded)
                captureEnd = captureEnd.map { $0 + Self.duration(decoded.count) }
            case .silence(let count):
                decoded.append(contentsOf: repeatElement(0, count: count))
                captureEnd = captureEnd.map { $0 + Self.duration(count) }
            }
        } catch {
            figures.failures.wrappingAdd(1, ordering: .relaxed)
            decoded.append(contentsOf: repeatElement(0, count: Self.samplesPerTick))
        }
        stretcher.stretch(decoded, tempo: playout.tempo, into: &samples)
    }

    private func readyDecoder() throws(CodecError) -> OpusDecoder {
        if let decoder { return decoder }
        let made = try OpusDecoder()
        decoder = made
        return made
    }

    private static func duration(_ samples: Int) -> Duration { .nanoseconds(Int64(samples) * 1_000_000_000 / 48_000) }
}
