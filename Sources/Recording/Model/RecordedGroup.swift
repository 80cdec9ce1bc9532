/// The breakout group that a recording is of.
package struct RecordedGroup: Codable, Hashable, Sendable {
    /// Its number in the room, from 1 on.
    package var number: Int
    /// Its name when the recording began.
    package var name: String

    package init(number: Int, name: String) {
        self.number = number
        self.name = name
    }
}
