/// The ids of pictures in scenes and layouts: of a camera the participant's own, of a screen one made of it.
///
/// Ids of participants have letters and digits only.
package enum PictureID {
    private static let suffix = "/screen"

    package static func screen(of participant: String) -> String { participant + suffix }

    static func isScreen(_ id: String) -> Bool { id.hasSuffix(suffix) }

    static func participant(of id: String) -> String { isScreen(id) ? String(id.dropLast(suffix.count)) : id }
}
