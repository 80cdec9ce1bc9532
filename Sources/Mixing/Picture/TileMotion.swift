import Basics
import Codecs

/// Tiles on their way from one arrangement to the next: each moves from its old place to its new one, quickly at first
/// and slowly at the end. A value; time is an argument.
struct TileMotion {
    private var origins: [String: PixelRectangle] = [:]
    private var start = Instant.distantPast
    private var duration = Duration.zero

    /// Begins a motion to new places from those where tiles are now.
    ///
    /// - Parameter shown: where each tile of both arrangements is now.
    mutating func begin(from shown: [String: PixelRectangle], at now: Instant, in duration: Duration) {
        origins = shown
        start = now
        self.duration = duration
    }

    mutating func stop() { origins = [:] }

    /// Whether tiles are still on their way.
    func isMoving(at now: Instant) -> Bool { !origins.isEmpty && now - start < duration }

    /// The place of a tile on its way to `frame`, on even pixels.
    func frame(of member: String, to frame: PixelRectangle, at now: Instant) -> PixelRectangle {
        guard isMoving(at: now), let origin = origins[member], origin != frame else { return frame }
        let elapsed = Double(max(0, (now - start).nanoseconds)) / Double(max(1, duration.nanoseconds))
        let rest = (1 - min(1, elapsed)) * (1 - min(1, elapsed))
        func between(_ from: Int, _ to: Int) -> Int { (to + Int((Double(from - to) * rest).rounded())) & ~1 }
        let (left, top) = (between(origin.x, frame.x), between(origin.y, frame.y))
        let right = between(origin.x + origin.width, frame.x + frame.width)
        let bottom = between(origin.y + origin.height, frame.y + frame.height)
        return PixelRectangle(x: left, y: top, width: max(2, right - left), height: max(2, bottom - top))
    }
}
