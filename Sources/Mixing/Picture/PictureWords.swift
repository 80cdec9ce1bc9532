/// What the placeholders of a layout's texts stand for, apart from the people in the picture.
package struct PictureWords: Hashable, Sendable {
    package var room: String
    package var time: String
    package var date: String

    package init(room: String = "", time: String = "", date: String = "") {
        self.room = room
        self.time = time
        self.date = date
    }

    /// The text that an ornament shows; nil: nothing.
    func text(of ornament: Ornament, in arranged: Arranged) -> String? {
        switch ornament.content {
        case .more:
            return "+\(arranged.hidden)\(arranged.hiddenSpeaker.map { "\n\($0)" } ?? "")"
        case .image: return ""
        case .text(let text):
            return text.filled { placeholder in
                switch placeholder {
                case .room: room
                case .time: time
                case .date: date
                case .people: "\(arranged.people)"
                case .more: arranged.hidden > 0 ? "+\(arranged.hidden)" : ""
                case .speaker: arranged.hiddenSpeaker ?? ""
                }
            }
        }
    }
}
