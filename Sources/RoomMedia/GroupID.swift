/// A part of a room whose participants see and hear each other and nobody else: the room itself, or one of its breakout
/// groups.
package struct GroupID: Hashable, Comparable, Sendable {
    /// 0 is the room itself.
    package let number: Int

    package init(_ number: Int) { self.number = number }

    /// The room itself, which has everybody who is in no breakout group.
    package static let main = GroupID(0)

    package static func < (a: GroupID, b: GroupID) -> Bool { a.number < b.number }
}
