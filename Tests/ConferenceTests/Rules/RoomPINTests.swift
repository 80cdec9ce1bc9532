import Foundation
import Testing

@testable import Conference

@Suite("The PIN of a room")
struct RoomPINTests {
    @Test("4 to 32 letters and digits are a PIN", arguments: ["1234", "abcdEFGH9", String(repeating: "7", count: 32)])
    func valid(text: String) throws {
        let pin = try #require(RoomPIN(text))
        #expect(pin.matches(text))
        for other in [
            "", "123", text + "1", String(text.dropLast()), text + text + text, "ü\u{0}", text.lowercased() + "A",
        ] {
            #expect(!pin.matches(other))
        }
    }

    @Test("anything else is none", arguments: ["", "123", "12 34", "pin-1", "ünüü", String(repeating: "7", count: 33)])
    func invalid(text: String) { #expect(RoomPIN(text) == nil) }

    @Test("no print of a room's settings shows the PIN")
    func secret() throws {
        var settings = RoomSettings()
        var change = RoomSettingsChange()
        change.pin = "2718281828"
        try settings.apply(change)
        #expect(settings.access.hasPIN)
        var text = "\(settings)"
        dump(settings, to: &text)
        #expect(text.contains("pin") && !text.contains("2718"))
        let digits = "[50, 55"
        #expect(!text.contains(digits))
        change.pin = "12"
        #expect(throws: ConferenceError.self) { try settings.apply(change) }
        #expect(settings.pin?.matches("2718281828") == true)
        change.pin = ""
        try settings.apply(change)
        #expect(settings.pin == nil)
    }
}
