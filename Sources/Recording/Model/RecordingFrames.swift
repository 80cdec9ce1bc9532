/// How smooth a recording's picture is. It is that of the call, so that a server without time for the call has none for
/// the recording.
package struct RecordingFrames: Codable, Hashable, Sendable {
    /// The mean of the whole file; nil while it is written. A picture that does not change has fewer frames.
    package var perSecond: Double?
    /// What the view has where there is time for it.
    package var wanted: Double
    /// Seconds in which the server was overloaded and made half of the frames, or fewer.
    package var overloaded: Double

    package init(perSecond: Double? = nil, wanted: Double, overloaded: Double) {
        self.perSecond = perSecond
        self.wanted = wanted
        self.overloaded = overloaded
    }

    /// - Parameter duration: of the file, in seconds.
    package mutating func finish(count: Int, duration: Double) {
        if duration > 0 { perSecond = (Double(count) / duration * 10).rounded() / 10 }
        overloaded = (overloaded * 10).rounded() / 10
    }
}
