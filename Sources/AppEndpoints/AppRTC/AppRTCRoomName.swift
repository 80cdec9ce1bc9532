import Conference

/// The room's name as a client of AppRTC gives it: `ROOM`, or `ROOM_pin_PIN` with the room's PIN.
///
/// The Android and iOS apps have one field, the room's name, and take only letters, digits, `-` and `_` in it.
struct AppRTCRoomName: Equatable {
    /// As the client has it: the name of the room in all its requests.
    let text: String
    let room: String
    let pin: String?

    private static let mark = "_pin_"

    init(_ text: String) {
        self.text = text
        guard let mark = text.ranges(of: Self.mark).last, mark.lowerBound > text.startIndex,
            RoomPIN(String(text[mark.upperBound...])) != nil
        else {
            (room, pin) = (text, nil)
            return
        }
        (room, pin) = (String(text[..<mark.lowerBound]), String(text[mark.upperBound...]))
    }
}
