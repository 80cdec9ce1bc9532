import Basics
import Codecs
import Conference
import Mixing
import Threads

/// The crop of a peer's picture and its place on the canvas.
struct Place: Hashable, Sendable {
    var crop: PixelRectangle
    var target: PixelRectangle

    /// The placement by the compositor for a picture of the footage's size: cropped to fill the tile where little is
    /// lost, otherwise whole.
    init(tile: PixelRectangle) {
        let width = Footage.width, height = Footage.height
        crop = PixelRectangle(x: 0, y: 0, width: width, height: height)
        target = tile
        let shape = Double(width) / Double(height), wanted = Double(tile.width) / Double(tile.height)
        if 1 - min(shape, wanted) / max(shape, wanted) <= TileFit.largestCrop {
            crop = Scaler.coverCrop(width: width, height: height, targetWidth: tile.width, targetHeight: tile.height)
        } else if shape < wanted {
            target.width = Int(Double(tile.height) * shape / 2) * 2
        } else {
            target.height = Int(Double(tile.width) / shape / 2) * 2
        }
    }
}

/// The room's parameters, for both sides of the comparison.
struct RoomPlan: Sendable {
    static let width = 1280
    static let height = 720
    static let framesPerSecond = 30
    static let bitRate = BitRate.megabits(1.5)

    var peers: Int
    /// The first so many of them have a camera on.
    var cameras: Int
    /// The first so many talk at once, the others listen.
    var talkers: Int
    /// The first so many get the upright view, the others the room's.
    var upright: Int
    var footage: Footage

    init(peers: Int, cameras: Int? = nil, talkers: Int = 2, upright: Int = 0, footage: Footage) {
        self.peers = peers
        self.cameras = min(cameras ?? peers, peers)
        self.talkers = min(talkers, peers)
        self.upright = min(upright, peers)
        self.footage = footage
    }

    /// The row's name.
    var name: String {
        let off = peers - cameras
        return "\(peers)" + (off > 0 ? ", \(off) without camera" : "") + (talkers == 1 ? ", one talks" : "")
            + (upright > 0 ? ", \(upright) of them upright" : "")
    }

    /// The views in use.
    var canvases: [Canvas] {
        let wide = Canvas(name: ViewSettings.main, width: Self.width, height: Self.height, members: upright..<peers)
        let tall = Canvas(name: ViewSettings.portrait, width: Self.height, height: Self.width, members: 0..<upright)
        return [wide, tall].filter { !$0.members.isEmpty }
    }

    /// One view: a picture that is composed, scaled and encoded.
    struct Canvas: Sendable {
        var name: String
        var width: Int
        var height: Int
        /// The peers that get it.
        var members: Range<Int>
    }

    /// The codecs in which the peers get a canvas.
    func codecs(of canvas: Canvas) -> Set<VideoCodec> { Set(canvas.members.map { codec(of: $0) }) }
    /// The encodes of all canvases.
    var encodes: Int { canvases.reduce(0) { $0 + codecs(of: $1).count } }

    /// Every second peer speaks VP8, both ways.
    func codec(of peer: Int) -> VideoCodec { peer.isMultiple(of: 2) ? .h264 : .vp8 }
    func frames(of peer: Int) -> [EncodedVideoFrame] { peer < cameras ? footage.frames[codec(of: peer)] ?? [] : [] }
    func audio(of peer: Int) -> [[UInt8]] { peer < talkers ? footage.voice : footage.quiet }
}

/// Processor time by stage, in seconds.
struct StageTimes: Sendable {
    var network = 0.0
    var decode = 0.0
    var compose = 0.0
    var encode = 0.0
    var audio = 0.0
    /// The time that no stage counts: passing work between threads, clocks, rooms.
    var other = 0.0

    var video: Double { decode + compose + encode }
    var total: Double { network + video + audio + other }
    static var parts: [WritableKeyPath<StageTimes, Double>] {
        [\.network, \.decode, \.compose, \.encode, \.audio, \.other]
    }

    func per(_ seconds: Double) -> StageTimes {
        var result = self
        for part in Self.parts { result[keyPath: part] /= max(seconds, 0.001) }
        return result
    }

    static func median(_ all: [StageTimes]) -> StageTimes {
        var result = StageTimes()
        for part in parts { result[keyPath: part] = Statistics.median(all.map { $0[keyPath: part] }) }
        return result
    }
}

/// The decoding, scaling and encoding of a room, done directly with libavcodec, libyuv, libvpx and libopus on one
/// thread.
final class BareCost {
    private let plan: RoomPlan
    private let decoders: [BareDecoder]
    private let views: [View]
    private let bareAudio: BareAudio
    private var tick = 0
    private var audioTicks = 0

    private struct View {
        let canvas: BareCanvas
        let places: [Place]
        let h264: BareH264Encoder?
        let vp8: BareVP8Encoder?
    }

    /// A fixed amount of work (two peers side by side), by which machines and moments are compared.
    static func pair(_ footage: Footage) throws(BenchError) -> BareCost {
        let half = RoomPlan.width / 2
        let places = (0..<2).map { Place(tile: PixelRectangle(x: $0 * half, y: 0, width: half, height: half * 9 / 16)) }
        return try BareCost(RoomPlan(peers: 2, footage: footage), places: [places])
    }

    /// - Parameter places: of the peers' pictures on each canvas of the plan.
    init(_ plan: RoomPlan, places: [[Place]]) throws(BenchError) {
        self.plan = plan
        var decoders: [BareDecoder] = []
        for peer in 0..<plan.cameras { decoders.append(try BareDecoder(plan.codec(of: peer))) }
        self.decoders = decoders
        var views: [View] = []
        for (canvas, places) in zip(plan.canvases, places) {
            let codecs = plan.codecs(of: canvas)
            let (width, height, rate) = (canvas.width, canvas.height, RoomPlan.framesPerSecond)
            views.append(
                View(
                    canvas: try BareCanvas(width: width, height: height), places: places,
                    h264: codecs.contains(.h264)
                        ? try BareH264Encoder(
                            width: width, height: height, framesPerSecond: rate, bitRate: RoomPlan.bitRate) : nil,
                    vp8: codecs.contains(.vp8)
                        ? try BareVP8Encoder(
                            width: width, height: height, framesPerSecond: rate, bitRate: RoomPlan.bitRate) : nil))
        }
        self.views = views
        bareAudio = try BareAudio(
            packets: (0..<plan.peers).map { plan.audio(of: $0) }, speakers: plan.talkers)
    }

    /// Runs `windows` windows and returns the cost of each window, per second of call. There are 30 ticks a second, as in
    /// a call, so that caches and clock rates are those of a call; where the machine is too busy for that, the ticks
    /// follow each other directly.
    func run(windows: Int, of length: Duration) throws(BenchError) -> [StageTimes] {
        let ticks = max(1, Int(length.inSeconds * Double(RoomPlan.framesPerSecond)))
        var next = MonotonicClock.now()
        var results: [StageTimes] = []
        // The first window is not counted: it has keyframes, and rate control that settles.
        for window in 0...windows {
            var times = StageTimes()
            for _ in 0..<ticks {
                MonotonicClock.sleep(until: next)
                next = max(
                    next + .nanoseconds(1_000_000_000 / Int64(RoomPlan.framesPerSecond)),
                    MonotonicClock.now() - .milliseconds(100))
                try run(&times)
            }
            if window > 0 { results.append(times.per(Double(ticks) / Double(RoomPlan.framesPerSecond))) }
        }
        return results
    }

    /// One picture tick, and the audio that is due by then.
    func run(_ times: inout StageTimes) throws(BenchError) {
        var mark = Self.threadTime()
        func lap(_ part: WritableKeyPath<StageTimes, Double>) {
            let now = Self.threadTime()
            times[keyPath: part] += now - mark
            mark = now
        }
        for peer in 0..<plan.cameras {
            let frames = plan.frames(of: peer)
            try decoders[peer].decode(frames[tick % frames.count].data)
        }
        lap(\.decode)
        for view in views {
            for (decoder, place) in zip(decoders, view.places) { view.canvas.place(decoder.frame, place) }
        }
        lap(\.compose)
        let timestamp = Int64(tick * 90_000 / RoomPlan.framesPerSecond)
        for view in views {
            try view.h264?.encode(view.canvas, timestamp: timestamp)
            try view.vp8?.encode(view.canvas, timestamp: timestamp)
        }
        lap(\.encode)
        tick += 1
        while audioTicks * RoomPlan.framesPerSecond < tick * 50 {
            try bareAudio.run()
            audioTicks += 1
        }
        lap(\.audio)
    }

    private static func threadTime() -> Double { Double(ThreadClock.nanoseconds()) / 1e9 }

    /// Runs the work for a task on a thread of its own, so that the cooperative pool stays free.
    static func measure(
        _ plan: RoomPlan, places: [[Place]], windows: Int, of length: Duration
    ) async throws -> [StageTimes] {
        try await withCheckedThrowingContinuation { continuation in
            DedicatedThread.start("bare") {
                do {
                    let cost = try BareCost(plan, places: places)
                    continuation.resume(returning: try cost.run(windows: windows, of: length))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}
