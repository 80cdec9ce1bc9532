package import Basics
import Codecs
package import Peer

/// What of a sender's frames goes to others as it came: the check of each frame, and the time for its keyframes.
///
/// A decoder of another participant gets these bytes, so a frame has nothing that the mix's own frames have not: slices
/// and parameter sets of a profile that each receiver decodes, a picture within the canvas, at most the canvas' frames a
/// second, and no more bits than the weakest member's link carries. A value without a clock, so that tests run it in
/// simulated time.
package struct ForwardedStream: Sendable {
    package typealias Fault = ForwardingFault

    package enum Verdict: Sendable {
        /// The frame goes to the members.
        case forward(EncodedVideoFrame)
        /// The frame goes nowhere: the members have what they had.
        case hold
        /// The stream ends here.
        case end(Fault)
    }

    /// The share of the least budget that a sender may take when the stream begins, and for how long it may take more
    /// than `excess` of it afterwards: encoders vary about their rate, and follow a request within a second or two.
    static let (slack, excess) = (1.25, 1.5)
    static let excessTime = Duration.seconds(2)
    /// A sender that has not come down to the rate, or sent no keyframe, after this time will not.
    static let patience = Duration.seconds(8)
    /// Requests of keyframes that are closer together than this are one.
    static let requestDistance = Duration.milliseconds(500)
    /// The difference between the shapes of picture and canvas that nobody sees.
    static let sameShape = 0.02
    /// Frames a second beyond those of the canvas by this factor are too many.
    static let mostFrames = 1.5
    /// Picture parameter sets of one keyframe.
    private static let mostSets = 8

    private let width: Int
    private let height: Int
    private let framesPerSecond: Int
    /// When the first frame arrived.
    private var begun: Instant?
    private var rate = RateMeter()
    private var frames = RateMeter()
    private var overSince: Instant?
    private var lastRequest: Instant?
    /// Whether a member needs a keyframe.
    private var needsKeyframe = true
    /// Whether frames go on: from a keyframe that passed, at a rate that the members' links carry.
    package private(set) var isRunning = false
    package private(set) var lastArrival: Instant?
    /// The size of the picture that is forwarded; zero before the first.
    package private(set) var size = (width: 0, height: 0)

    /// - Parameters:
    ///   - width: of the canvas in pixels, as `height`.
    ///   - framesPerSecond: the canvas'.
    package init(width: Int, height: Int, framesPerSecond: Int) {
        (self.width, self.height, self.framesPerSecond) = (width, height, framesPerSecond)
    }

    // MARK: - Keyframes

    /// A member needs a keyframe. Returns whether it is to be requested from the sender now: the first one is requested
    /// once the rate fits, since before that the stream could not begin with it.
    package mutating func requestKeyframe(at now: Instant) -> Bool {
        needsKeyframe = true
        return isRunning && mayRequest(at: now)
    }

    private mutating func mayRequest(at now: Instant) -> Bool {
        if let lastRequest, now - lastRequest < Self.requestDistance { return false }
        lastRequest = now
        return true
    }

    // MARK: - Frames

    /// - Parameter budget: the bit rate that the weakest member's link leaves for the frames.
    /// - Returns: what becomes of the frame, and whether a keyframe is to be requested from the sender.
    package mutating func take(_ received: ReceivedVideoFrame, budget: BitRate) -> (Verdict, requestsKeyframe: Bool) {
        let now = received.arrival
        (begun, lastArrival) = (begun ?? now, now)
        rate.add(received.frame.data.count, at: now)
        frames.add(1, at: now)
        do throws(Fault) {
            try checkRates(budget, at: now)
            guard let frame = try checked(received) else { return (.hold, requestsIfFits(budget, at: now)) }
            if frame.isKeyframe {
                guard isRunning || fits(budget, at: now) else { return (.hold, false) }
                (isRunning, needsKeyframe) = (true, false)
            }
            return (.forward(frame), needsKeyframe && mayRequest(at: now))
        } catch {
            return (.end(error), false)
        }
    }

    private mutating func requestsIfFits(_ budget: BitRate, at now: Instant) -> Bool {
        needsKeyframe && fits(budget, at: now) && mayRequest(at: now)
    }

    private func age(at now: Instant) -> Duration { begun.map { now - $0 } ?? .zero }

    private mutating func fits(_ budget: BitRate, at now: Instant) -> Bool {
        age(at: now) >= .seconds(1) && rate.rate(at: now) <= budget * Self.slack
    }

    private mutating func checkRates(_ budget: BitRate, at now: Instant) throws(Fault) {
        guard age(at: now) >= .seconds(1) else { return }
        // A meter of frames in place of bytes: eight "bits" each.
        let perSecond = Double(frames.rate(at: now).bitsPerSecond) / 8
        if perSecond > Double(framesPerSecond) * Self.mostFrames { throw .frames }
        if !isRunning {
            guard age(at: now) > Self.patience else { return }
            throw rate.rate(at: now) > budget * Self.slack ? .rate : .keyframe
        }
        guard rate.rate(at: now) > budget * Self.excess else {
            overSince = nil
            return
        }
        let since = overSince ?? now
        overSince = since
        if now - since > Self.excessTime { throw .rate }
    }

    /// The frame as it goes on; nil while the stream waits for a keyframe.
    private mutating func checked(_ received: ReceivedVideoFrame) throws(Fault) -> EncodedVideoFrame? {
        guard received.frame.isKeyframe || isRunning else { return nil }
        if received.rotation != .none { throw .rotation }
        var frame = received.frame
        // Each refers to frames of all layers before it, since none of them is dropped.
        frame.temporalLayer = 0
        switch frame.codec {
        case .h264:
            let (data, shown) = try Self.checkedUnits(of: frame)
            frame.data = data
            if let shown { try take(shown.width, shown.height) }
        case .vp8:
            guard let first = frame.data.first, (first & 1 == 0) == frame.isKeyframe else { throw .units }
            if frame.isKeyframe {
                guard let format = VideoFormat(of: frame) else { throw .units }
                try take(format.width, format.height)
            }
        case .av1: throw .profile
        }
        (frame.width, frame.height) = size
        return frame
    }

    private mutating func take(_ shownWidth: Int, _ shownHeight: Int) throws(Fault) {
        guard shownWidth <= width, shownHeight <= height, shownWidth >= 16, shownHeight >= 16 else { throw .size }
        let shape = Double(shownWidth * height) / Double(shownHeight * width)
        guard abs(shape - 1) <= Self.sameShape else { throw .size }
        size = (shownWidth, shownHeight)
    }

    /// The slices and parameter sets of an access unit, without what decoders do not need of it, and the size of its
    /// sets' pictures; nil: it has none.
    private static func checkedUnits(
        of frame: EncodedVideoFrame
    ) throws(Fault) -> ([UInt8], H264SequenceParameterSet.Size?) {
        var data: [UInt8] = []
        data.reserveCapacity(frame.data.count)
        var (shown, sets, slices): (H264SequenceParameterSet.Size?, Int, Int) = (nil, 0, 0)
        for unit in H264.units(inAnnexB: frame.data) {
            let header = frame.data[unit.lowerBound]
            guard header & 0x80 == 0 else { throw .units }
            switch header & 31 {
            case H264.UnitType.sps:
                let size = try checkedSize(frame.data, unit)
                guard frame.isKeyframe, shown == nil || shown == size else { throw .units }
                shown = size
            case H264.UnitType.pps:
                sets += 1
                guard frame.isKeyframe, sets <= mostSets else { throw .units }
            case H264.UnitType.idr, H264.UnitType.slice:
                guard (header & 31 == H264.UnitType.idr) == frame.isKeyframe, unit.count > 1 else { throw .units }
                slices += 1
            // Enhancement information, delimiters and filler say nothing of the picture.
            case H264.UnitType.sei, H264.UnitType.delimiter, H264.UnitType.filler: continue
            default: throw .units
            }
            data += [0, 0, 0, 1]
            data += frame.data[unit]
        }
        guard slices > 0, frame.isKeyframe == (shown != nil), frame.isKeyframe == (sets > 0) else { throw .units }
        return (data, shown)
    }

    /// The size of a sequence parameter set's pictures. Constrained Baseline (RFC 6184 §8.1: profile_idc 66 with
    /// constraint_set1) is a part of each profile that endpoints negotiate.
    private static func checkedSize(
        _ data: [UInt8], _ unit: Range<Int>
    ) throws(Fault) -> H264SequenceParameterSet.Size {
        guard unit.count >= 4, data[unit.lowerBound + 1] == 66, data[unit.lowerBound + 2] & 0x40 != 0 else {
            throw .profile
        }
        guard let set = H264SequenceParameterSet(data.span.extracting(unit)), set.isPlain, let size = set.shownSize
        else { throw .units }
        return size
    }
}
