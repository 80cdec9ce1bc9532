/// What a tap needs of the picture, beyond what the room's peers need.
package struct TapNeeds: Hashable, Sendable {
    /// The longest time between two keyframes: players seek to them, and receivers of a stream begin with one.
    package var keyframeInterval: Duration
    /// The least frame rate, also while the picture stands still.
    package var framesPerSecond: Double

    /// The defaults are a recording's.
    package init(keyframeInterval: Duration = .seconds(10), framesPerSecond: Double = 1) {
        self.keyframeInterval = keyframeInterval
        self.framesPerSecond = framesPerSecond
    }
}
