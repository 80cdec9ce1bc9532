package import Basics

/// The configuration of rooms' media.
package enum RoomMediaConfiguration {
    /// One step of the ladder.
    package struct Rung: Hashable, Sendable {
        /// In pixels; the width follows from the room's canvas.
        package var height: Int
        /// nil: the room's.
        package var framesPerSecond: Int?
        package var bitRate: BitRate

        package init(height: Int, framesPerSecond: Int? = nil, bitRate: BitRate) {
            self.height = height
            self.framesPerSecond = framesPerSecond
            self.bitRate = bitRate
        }

        /// The default ladder, from the top down.
        package static let standard = [
            Rung(height: 720, bitRate: .kilobits(1500)), Rung(height: 360, bitRate: .kilobits(450)),
            Rung(height: 180, framesPerSecond: 15, bitRate: .kilobits(110)),
        ]
    }

    package struct Audio: Sendable, Equatable {
        /// Whether every voice is brought to a common loudness.
        package enum Level: String, Sendable, CaseIterable { case auto, off }
        package var bitRate: BitRate = .kilobits(32)
        package var level = Level.auto
        /// How many of the loudest participants are mixed at once.
        package var maxSpeakers = 6
        package init() {}
    }
}
