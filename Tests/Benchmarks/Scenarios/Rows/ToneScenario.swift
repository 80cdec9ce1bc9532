import Basics
import Codecs
import Peer
import Simulation

/// Half a minute of one tone through the whole audio path: Opus, a link, the playout buffer, Opus again. Over a link
/// with loss each packet is sent twice, as rooms do (`AudioProfile.repeated`): Opus' in-band FEC would not suffice,
/// because it covers voice only.
public struct ToneOutcome: Sendable {
    /// Steps that a tone of this level does not have, outside of concealed audio and 20 ms around it.
    public var clicks = 0
    /// The largest step between two samples outside of concealed audio, relative to that of the tone itself.
    public var largestStep = 0.0
    /// In per cent of the played audio.
    public var concealed = 0.0
    public var recovered = 0.0
    public var seconds = 0.0
}

public enum ToneScenario {
    static let frequency = 440.0
    static let amplitude = 0.3
    static let rate = 48_000.0
    /// The steps of a coded tone are a little larger than those of the tone; larger steps than this count as a click.
    static let clickStep = 1.8
    /// The time around concealed audio in which a joint is allowed.
    static let margin = 960

    /// Plays the tone over a link with this random loss.
    public static func run(loss: Double, jitter: Duration = .zero, seconds: Int = 30, seed: UInt64) throws
        -> ToneOutcome
    {
        let encoder = try OpusEncoder(bitRate: .kilobits(32))
        let decoder = try OpusDecoder()
        var stretcher = TimeStretcher()
        var last: [UInt8]?
        var link = SimulatedLink<(sequence: Int64, payload: [UInt8], copy: [UInt8]?)>(
            LinkConditions(delay: .milliseconds(30), jitter: jitter, loss: loss > 0 ? .random(loss) : .none), seed: seed
        )
        var buffer = AudioReceiveBuffer()
        var output: [Float] = []
        var doubtful: [Range<Int>] = []
        var concealed = 0
        var recovered = 0
        var played = 0
        for tick in 0..<Int64(seconds * 50) {
            let now = Instant(nanoseconds: 1_000_000_000 + tick * 20_000_000)
            let samples = (0..<960).map { index in
                let phase = Double(tick * 960 + Int64(index)) * frequency / rate
                return Float(amplitude * sine(phase - phase.rounded(.down)))
            }
            let payload = try encoder.encode(samples)
            link.send((tick, payload, loss > 0 ? last : nil), size: 100, at: now)
            last = payload
            while let packet = link.receive(at: now) {
                func insert(_ payload: [UInt8], _ sequence: Int64, isCopy: Bool) {
                    buffer.insert(
                        ReceivedAudioPacket(
                            payload: payload, sequence: sequence, timestamp: sequence * 960,
                            captureTime: Instant(nanoseconds: 1_000_000_000 + sequence * 20_000_000), arrival: now,
                            isCopy: isCopy))
                }
                if let copy = packet.copy { insert(copy, packet.sequence - 1, isCopy: true) }
                insert(packet.payload, packet.sequence, isCopy: false)
            }
            for _ in 0..<8 {
                guard let step = buffer.next(at: now, pcmBuffered: output.count - played) else { break }
                let start = output.count
                var pcm: [Float] = []
                switch step {
                case .decode(let packet, let tempo):
                    try decoder.decode(packet.payload, into: &pcm)
                    if packet.isCopy { recovered += pcm.count }
                    stretcher.stretch(pcm, tempo: tempo, into: &output)
                    continue
                case .decodeFEC(let next, let count):
                    try decoder.decodeFEC(next.payload, samples: count, into: &pcm)
                    recovered += count
                case .conceal(let count):
                    decoder.conceal(samples: count, into: &pcm)
                    concealed += count
                case .silence(let count): pcm = Array(repeating: 0, count: count)
                case .reset:
                    decoder.reset()
                    continue
                }
                stretcher.stretch(pcm, tempo: 1, into: &output)
                doubtful.append(start - margin..<output.count + margin)
            }
            played = min(played + 960, output.count)
        }
        var outcome = judge(output, doubtful: doubtful)
        outcome.concealed = 100 * Double(concealed) / Double(max(output.count, 1))
        outcome.recovered = 100 * Double(recovered) / Double(max(output.count, 1))
        outcome.seconds = Double(output.count) / rate
        return outcome
    }

    private static func judge(_ output: [Float], doubtful: [Range<Int>]) -> ToneOutcome {
        // The largest step of the tone itself.
        let own = amplitude * 2 * .pi * frequency / rate
        var outcome = ToneOutcome()
        var index = 0
        let sorted = doubtful.sorted { $0.lowerBound < $1.lowerBound }
        for position in output.indices.dropFirst(4800) {
            while index < sorted.count, sorted[index].upperBound <= position { index += 1 }
            if index < sorted.count, sorted[index].contains(position) { continue }
            let step = Double(abs(output[position] - output[position - 1])) / own
            outcome.largestStep = max(outcome.largestStep, step)
            if step > clickStep { outcome.clicks += 1 }
        }
        return outcome
    }

    /// sin 2πx for 0 ≤ x < 1 by a Taylor series, accurate to 1e-6, without libm.
    private static func sine(_ turn: Double) -> Double {
        var x = (turn < 0.5 ? turn : turn - 1) * 2 * .pi
        if x > .pi / 2 { x = .pi - x }
        if x < -.pi / 2 { x = -.pi - x }
        let s = x * x
        return x * (1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72))))
    }
}
