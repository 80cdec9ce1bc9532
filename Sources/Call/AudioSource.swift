import Basics
import Codecs

/// Makes the Opus packets, 20 ms each, that all participants of a `tessera call` send. Confined to the source's thread.
protocol AudioSource: AnyObject {
    /// The packet for a tick at `time`; nil when there is none to send.
    func packet(at time: Instant) throws -> [UInt8]?
    /// The level of the last packet in −dBov (RFC 6464); nil where it is not known.
    var level: UInt8? { get }
    /// Leaves out the next packet.
    func skip() throws
}

/// The test pattern's beep, encoded.
final class PatternAudioSource: AudioSource {
    private let pattern: TestPattern
    private let encoder: OpusEncoder

    init(seed: Int) throws {
        pattern = TestPattern(seed: seed)
        encoder = try OpusEncoder(bitRate: .kilobits(32))
    }

    private(set) var level: UInt8?

    func packet(at time: Instant) throws -> [UInt8]? {
        let samples = pattern.samples(at: time)
        level = LevelMeter.headerValue(of: samples)
        return try encoder.encode(samples)
    }

    /// The pattern follows the clock, whatever is left out.
    func skip() {}
}

/// Sends packets from memory in a loop.
final class LoopedAudioSource: AudioSource {
    private let packets: [[UInt8]]
    private let levels: [UInt8?]
    private var next = 0
    private(set) var level: UInt8?

    init(packets: [[UInt8]]) {
        self.packets = packets
        // A client knows the level before it encodes; here the packets are decoded to measure it.
        let decoder = try? OpusDecoder()
        levels = packets.map { packet in
            var samples: [Float] = []
            guard let decoder, (try? decoder.decode(packet, into: &samples)) != nil else { return nil }
            return LevelMeter.headerValue(of: samples)
        }
    }

    func packet(at time: Instant) throws -> [UInt8]? {
        defer { next = (next + 1) % packets.count }
        level = levels[next]
        return packets[next]
    }

    func skip() { next = (next + 1) % packets.count }
}

/// Sends a file's audio in a loop: its own Opus packets where they have 20 ms, otherwise encoded.
final class FileAudioSource: AudioSource {
    private let reader: MediaFileReader
    private var encoder: OpusEncoder?
    private var samples: [Float] = []
    private(set) var level: UInt8?

    init(path: String) throws {
        let reader = try MediaFileReader(path: path)
        guard reader.hasAudio else { throw CallError("\(path) has no audio: name another file with --audio") }
        if reader.passesOpus, try Self.hasFramesOf20ms(path) {
            self.reader = reader
        } else {
            self.reader = try MediaFileReader(path: path, decode: true)
            encoder = try OpusEncoder(bitRate: .kilobits(32))
        }
    }

    private static func hasFramesOf20ms(_ path: String) throws -> Bool {
        let reader = try MediaFileReader(path: path)
        var previous: Int64?
        var seen = 0
        while seen < 20, let sample = try reader.next() {
            guard case .opus(_, let timestamp) = sample else { continue }
            if let previous, timestamp - previous != 960 { return false }
            previous = timestamp
            seen += 1
        }
        return seen > 1
    }

    func packet(at time: Instant) throws -> [UInt8]? {
        var rewinds = 0
        while rewinds < 2 {
            if let encoder, samples.count >= 960 {
                defer { samples.removeFirst(960) }
                let tick = Array(samples[..<960])
                level = LevelMeter.headerValue(of: tick)
                return try encoder.encode(tick)
            }
            switch try reader.next() {
            case .opus(let packet, _)? where encoder == nil: return packet
            case .pcm(let more, _)?: samples += more
            case nil:
                try reader.rewind()
                rewinds += 1
            default: continue
            }
        }
        return nil
    }

    func skip() throws { _ = try packet(at: .zero) }
}

/// The audio source for the options: the file of `--audio`, otherwise the audio of the video file, otherwise the beep.
func makeAudioSource(file: String?, video: String?, seed: Int) throws -> any AudioSource {
    if let file { return try FileAudioSource(path: file) }
    if let video, try MediaFileReader(path: video).hasAudio { return try FileAudioSource(path: video) }
    return try PatternAudioSource(seed: seed)
}
