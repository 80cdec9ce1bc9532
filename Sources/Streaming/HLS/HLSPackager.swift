import Basics

/// Makes parts and segments of encoded video and audio: a value without clocks, threads and encoders.
///
/// The parts lie on a grid of half a second from their segment's beginning, whatever the frame rate, and have the frames
/// that begin in them. A frame is kept back until the next one comes, since that determines its duration.
struct HLSPackager: Sendable {
    private(set) var window: HLSWindow
    /// A keyframe is needed, which the caller requests. Set to false by the caller.
    var needsKeyframe = false

    /// AudioSpecificConfig and bit rate of the audio.
    private let audio: (description: [UInt8], bitRate: Int)
    private var description: H264Description?
    private var header = 0
    /// The room time of the timeline's zero, in ticks of 90 kHz.
    private var origin: Int64?
    private var state = State.waiting
    /// The last frame, whose duration is not known yet.
    private var held: Frame?
    private var video: [Frame] = []
    private var packets: [Packet] = []
    private var fragments: UInt32 = 0
    private var hasRequested = false

    private enum State {
        /// For a keyframe.
        case waiting
        /// In the part that begins at this room time.
        case running(part: Int64)
    }

    private struct Frame {
        var sample: CMAFFragment.Sample
        /// Room time in ticks of 90 kHz.
        var time: Int64
    }

    private struct Packet {
        var data: [UInt8]
        /// Room time in samples.
        var time: Int64
        var count: Int
    }

    /// Packets that wait for a picture: two seconds.
    private static let maxPackets = 96

    init(_ window: HLSWindow, audioDescription: [UInt8], audioBitRate: Int) {
        self.window = window
        audio = (audioDescription, audioBitRate)
    }

    // MARK: - Media

    /// Appends an H.264 access unit (Annex B) with its room time in ticks of 90 kHz.
    mutating func append(_ data: [UInt8], isKeyframe: Bool, time: Int64) {
        guard !window.isEnded else { return }
        var time = time
        if let held {
            // A frame with the time of another is shown for one tick: others depend on it.
            time = max(time, held.time + 1)
            if time - held.time > HLSLimits.longestGap { interrupt() }
        }
        if held != nil { hold(nil, until: time) }
        if isKeyframe {
            keyframe(data, at: time)
        } else if case .running = state, let segment = window.current, time - segment.start >= HLSLimits.longestSegment
        {
            interrupt()
        }
        guard case .running = state, let segment = window.current else {
            if !hasRequested { request() }
            return
        }
        if time - segment.start >= HLSLimits.requestsKeyframe, !hasRequested { request() }
        held = Frame(
            sample: CMAFFragment.Sample(data: H264Description.sample(data), duration: 0, isKeyframe: isKeyframe),
            time: time)
    }

    /// Appends a packet of audio with the room time of its first sample.
    mutating func append(audio data: [UInt8], time: Int64, count: Int) {
        packets.append(Packet(data: data, time: time, count: count))
        if packets.count > Self.maxPackets { packets.removeFirst(packets.count - Self.maxPackets) }
    }

    /// Ends the segment with what there is. The next keyframe begins another, which is discontinuous.
    mutating func interrupt() {
        if let held { hold(nil, until: held.time + nominalDuration) }
        if case .running(let part) = state, let last = video.last {
            endPart(at: max(last.time + Int64(last.sample.duration), part + 1))
        }
        window.end()
        video = []
        description = nil
        hasRequested = false
        state = .waiting
    }

    /// Ends the stream: no more media comes.
    mutating func finish() {
        interrupt()
        window.finish()
    }

    /// Forgets all media. The stream can go on later.
    mutating func clear() {
        interrupt()
        packets = []
        window.clear()
    }

    /// Forgets segments down to a number of bytes.
    mutating func drop(toBytes limit: Int) { window.drop(toBytes: limit) }

    // MARK: - Parts

    /// Puts the held frame into its part, and ends the parts before `time`.
    private mutating func hold(_ frame: Frame?, until time: Int64) {
        if var known = held {
            known.sample.duration = UInt32(clamping: time - known.time)
            video.append(known)
        }
        held = frame
        while case .running(let part) = state, time >= part + HLSLimits.partTarget {
            endPart(at: part + HLSLimits.partTarget)
        }
    }

    /// Ends the part that begins with the state, at a room time.
    private mutating func endPart(at end: Int64) {
        guard case .running(let start) = state, let origin, end > start else { return }
        fragments &+= 1
        var fragment = CMAFFragment(number: fragments)
        fragment.video = video.map(\.sample)
        fragment.videoTime = UInt64(clamping: (video.first?.time ?? start) - origin)
        let first = samples(origin)
        let due = packets.prefix { $0.time < samples(end) }
        packets.removeFirst(due.count)
        // Audio from before the first picture belongs to nothing.
        let taken = due.filter { $0.time >= first }
        fragment.audio = taken.map {
            CMAFFragment.Sample(data: $0.data, duration: UInt32(clamping: $0.count))
        }
        fragment.audioTime = UInt64(clamping: (taken.first?.time ?? first) - first)
        window.append(
            fragment.isEmpty ? [] : fragment.bytes, duration: end - start,
            isIndependent: video.first?.sample.isKeyframe ?? false)
        video = []
        state = .running(part: end)
    }

    /// Begins a segment with a keyframe, where that may begin one.
    private mutating func keyframe(_ data: [UInt8], at time: Int64) {
        let new = H264Description(keyframe: data) ?? description
        guard let new else { return }
        let isChanged = new != description
        if case .running = state, let segment = window.current {
            guard isChanged || time - segment.start >= HLSLimits.shortestSegment else { return }
            endPart(at: time)
        }
        if isChanged {
            let made = CMAFHeader(video: new, audio: audio.description, audioBitRate: audio.bitRate)
            header = window.header == made && header > 0 ? header : window.add(made)
            description = new
        }
        origin = origin ?? time
        window.begin(header: header, at: time, isDiscontinuous: isChanged)
        state = .running(part: time)
        hasRequested = false
    }

    private mutating func request() {
        hasRequested = true
        needsKeyframe = true
    }

    /// The duration of the last frame before an interruption.
    private var nominalDuration: Int64 { Int64(video.last?.sample.duration ?? 3000) }

    /// In samples of 48 kHz.
    private func samples(_ ticks: Int64) -> Int64 { ticks * 8 / 15 }
}
