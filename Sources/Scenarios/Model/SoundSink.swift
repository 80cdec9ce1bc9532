import Basics
import Peer

/// The ear of a simulated receiver: the real playout buffer, pulled each 20 ms, with sample counts in the place of samples.
struct SoundSink {
    struct Tick {
        var at: Instant
        /// Samples of this tick at 48 kHz that had to be invented.
        var concealed: Int
        var recovered: Int
        var silent: Int
        /// From capture to ear of what plays now; nil when nothing does.
        var delay: Duration?
    }

    static let tick = 960
    private var buffer = AudioReceiveBuffer()
    private var ready = 0
    /// Of the newest sample in `ready`: capture time of its packet's end.
    private var newestEnd: Instant?
    private(set) var ticks: [Tick] = []
    private(set) var packets = 0

    var statistics: AudioReceiveBuffer.Statistics { buffer.statistics }
    var delay: Duration? { ticks.last?.delay }

    mutating func receive(_ packet: ReceivedAudioPacket) {
        packets += 1
        buffer.insert(packet)
    }

    /// - Parameter pictureDelay: how long pictures take; the sound waits for them within limits.
    mutating func pull(at now: Instant, pictureDelay: Duration?) {
        var tick = Tick(at: now, concealed: 0, recovered: 0, silent: 0, delay: nil)
        for _ in 0..<8 {
            guard let step = buffer.next(at: now, pcmBuffered: ready) else { break }
            switch step {
            case .decode(let packet, let tempo):
                let samples = OpusPacket(packet.payload)?.samples ?? Self.tick
                let added = Int(Double(samples) / tempo)
                ready += added
                if let mark = MediaMark(packet.payload.dropFirst(2)) {
                    newestEnd = mark.made + .nanoseconds(Int64(samples) * 1_000_000_000 / 48_000)
                }
            case .decodeFEC(let packet, let samples):
                ready += samples
                if MediaMark(packet.payload.dropFirst(2))?.tag == 1 { tick.recovered += samples } else { tick.concealed += samples }
            case .conceal(let samples):
                ready += samples
                tick.concealed += samples
            case .silence(let samples):
                ready += samples
                tick.silent += samples
                newestEnd = nil
            case .reset: break
            }
        }
        if let newestEnd, tick.silent == 0 {
            tick.delay = now + .nanoseconds(Int64(ready) * 1_000_000_000 / 48_000) - newestEnd
        }
        ready = max(0, ready - Self.tick)
        if let delay = tick.delay {
            let picture = pictureDelay ?? .zero
            let wanted = picture > delay ? buffer.currentDelay + (picture - delay) : buffer.minimumDelay - .milliseconds(1)
            buffer.minimumDelay = min(max(wanted, .zero), .milliseconds(200))
        }
        ticks.append(tick)
    }

    /// In per cent of what was played.
    func concealed(in window: Range<Instant>) -> Double { part(in: window, \.concealed) }
    func recovered(in window: Range<Instant>) -> Double { part(in: window, \.recovered) }
    func silent(in window: Range<Instant>) -> Double { part(in: window, \.silent) }

    private func part(in window: Range<Instant>, _ value: (Tick) -> Int) -> Double {
        let inside = ticks.filter { window.contains($0.at) }
        guard !inside.isEmpty else { return 100 }
        return 100 * Double(inside.reduce(0) { $0 + value($1) }) / Double(inside.count * Self.tick)
    }
}
