/// The use of a room's output by something that is no participant, such as a recording or a stream: the frames of a
/// view's top H.264 rendition, which stays alive for it, and the full mix. Several taps of a view share one encode.
///
/// It follows its view: where the view's format changes, the frames of the new format follow from a keyframe on. It has
/// no frame and no sample of participants who are not recorded (`Scene.Person.isRecorded`), from the moment on in which
/// the scene says so: the room makes one more picture of the view, and one more mix, while there are such.
package final class RoomTap: Sendable {
    /// Unique in the room.
    package let name: String
    package let view: ViewID
    private let engine: Weak

    private struct Weak: Sendable { weak let engine: RoomEngine? }

    init(_ name: String, view: ViewID, of engine: RoomEngine) {
        self.name = name
        self.view = view
        self.engine = Weak(engine: engine)
    }

    /// The rendition that the tap takes now; nil while the room does not make the view, and after the end.
    package var rendition: Rendition? { engine.engine?.rendition(ofTap: name) }

    /// - Parameter isUrgent: for a beginning; other requests repair a loss and share a budget of keyframes.
    package func requestKeyframe(isUrgent: Bool) { rendition?.requestKeyframe(isUrgent: isUrgent) }

    /// Ends the tap. A frame that is encoded meanwhile may still come.
    package func end() { engine.engine?.endTap(name) }
}
