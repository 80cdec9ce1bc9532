/// The properties of an Opus packet that its first bytes show (RFC 6716 §3.1, §3.2).
public struct OpusPacket: Sendable, Equatable {
    /// 120 ms (RFC 6716 §3.2.5, R5).
    public static let maximumSamples = 5760

    /// Whether it was coded with two channels.
    public var isStereo: Bool
    /// The number of frames in it, at most 48.
    public var frameCount: Int
    /// The samples of one frame, at 48 kHz.
    public var samplesPerFrame: Int
    /// The samples of the whole packet, at 48 kHz.
    public var samples: Int { frameCount * samplesPerFrame }
    /// Whether it is a comfort packet of discontinuous transmission, without audio.
    public var isComfort: Bool
    /// Whether it holds a coarse copy of the audio right before it (RFC 6716 §2.1.7).
    public var carriesFEC: Bool

    /// nil if the payload is empty or longer than 120 ms.
    public init?(_ payload: Span<UInt8>) {
        guard payload.count >= 1 else { return nil }
        let toc = payload[0]
        let configuration = Int(toc >> 3)
        isStereo = toc & 4 != 0
        switch configuration {
        case 0..<12: samplesPerFrame = [480, 960, 1920, 2880][configuration & 3]
        case 12..<16: samplesPerFrame = [480, 960][configuration & 1]
        default: samplesPerFrame = [120, 240, 480, 960][configuration & 3]
        }
        switch toc & 3 {
        case 0: frameCount = 1
        case 1, 2: frameCount = 2
        default:
            guard payload.count >= 2 else { return nil }
            frameCount = Int(payload[1] & 0x3F)
        }
        // libopus sends one or two bytes for a frame that it leaves out.
        isComfort = payload.count <= 2
        carriesFEC =
            configuration < 16 && Self.carriesFEC(payload, isStereo: isStereo, samplesPerFrame: samplesPerFrame)
        guard frameCount > 0, samples <= Self.maximumSamples else { return nil }
    }

    /// Parses an array.
    public init?(_ payload: [UInt8]) {
        self.init(payload.span)
    }

    /// The first bits of a SILK or hybrid frame show for each channel which of its 20 ms parts are voiced and whether
    /// it contains copies of earlier ones (RFC 6716 §4.2.3): these bits have even odds, so the range coder leaves them
    /// unchanged.
    private static func carriesFEC(_ payload: Span<UInt8>, isStereo: Bool, samplesPerFrame: Int) -> Bool {
        // The offset of the first frame (§3.2): after the length of the first of two different frames, or after the
        // count byte and the lengths.
        var start = 1
        switch payload[0] & 3 {
        case 0, 1: break
        case 2: start = payload.count > 1 && payload[1] >= 252 ? 3 : 2
        default: return true
        }
        guard payload.count > start else { return false }
        let parts = max(1, samplesPerFrame / 960)
        return (1...(isStereo ? 2 : 1)).contains { channel in
            payload[start] & 0x80 >> UInt8((parts + 1) * channel - 1) != 0
        }
    }
}
