import Foundation
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct ChatEnvelopeTests {
    private let date = Date(timeIntervalSince1970: 1_700_000_000)

    private func message(_ bodies: JSONValue) -> JSONValue {
        ["from_user": "mallory", "to_user": "bobby", "chat_type": "chat", "sendtime": 5, "bodies": bodies, "type": 3]
    }

    @Test func `a text keeps its words, and gets the sender, an id and the time`() throws {
        var text = try #require(ChatEnvelope(message(["type": "txt", "msg": "hi"]), [], from: "alice"))
        text.stamp(id: "m1", at: date, path: nil)
        #expect(
            text.acknowledgement == [
                "from_user": "alice", "to_user": "bobby", "chat_type": "chat", "sendtime": 5, "sendTime": 5,
                "sendStatus": 0,
                "bodies": ["type": "txt", "msg": "hi"], "msg_id": "m1", "timestamp": 1_700_000_000_000,
            ])
        #expect(text.delivery.argument == text.acknowledgement && text.delivery.attachments.isEmpty)
        #expect(text.text == "hi")
    }

    @Test func `a picture goes to the recipient as an attachment, and is not in the acknowledgement`() throws {
        let (one, two) = (BinaryMessage([1]), BinaryMessage([2, 2]))
        let bodies: JSONValue = [
            "type": "img", "fileName": "a.jpg", "size": ["width": 10, "height": 20],
            "fileData": ["_placeholder": true, "num": 1],
        ]
        var picture = try #require(ChatEnvelope(message(bodies), [one, two], from: "alice"))
        picture.stamp(id: "m1", at: date, path: "images/k3.jpg")
        let stored = picture.acknowledgement["bodies"]
        #expect(stored?["fileRemotePath"] == "images/k3.jpg" && stored?["thumbnailRemotePath"] == "images/k3.jpg")
        #expect(stored?["fileData"] == nil && stored?["size"] == ["width": 10, "height": 20])
        #expect(picture.delivery.attachments == [two])
        #expect(picture.delivery.argument["bodies"]?["fileData"] == ["_placeholder": true, "num": 0])
        #expect(picture.text == nil)
    }

    @Test func `a place has a path, which the app reads, and a text for others`() throws {
        let bodies: JSONValue = [
            "type": "loc", "latitude": 52.5, "longitude": 13, "locationName": "Mitte", "detailLocationName": "",
        ]
        var place = try #require(ChatEnvelope(message(bodies), [], from: "alice"))
        place.stamp(id: "m1", at: date, path: nil)
        #expect(place.acknowledgement["bodies"]?["fileRemotePath"] == "" && place.text == "Mitte · 52.5, 13")
    }

    @Test(
        arguments: [
            [:], "x", ["to_user": "bobby"], ["to_user": "bobby", "bodies": ["type": "other"]],
            ["to_user": "", "bodies": ["type": "txt"]], ["to_user": 5, "bodies": ["type": "txt"]],
            ["to_user": "bobby", "bodies": ["type": "img"]],
            ["to_user": "bobby", "bodies": ["type": "img", "fileData": ["_placeholder": true, "num": 1]]],
            ["to_user": "bobby", "bodies": ["type": "img", "fileData": ["_placeholder": true, "num": -1]]],
            ["to_user": "bobby", "bodies": ["type": "img", "fileData": "base64"]],
            [
                "to_user": "bobby",
                "bodies": ["type": "txt", "msg": .string(String(repeating: "a", count: ChatEnvelope.maxBytes))],
            ],
        ] as [JSONValue])
    func `what is no message is none`(argument: JSONValue) {
        #expect(ChatEnvelope(argument, [BinaryMessage([1])], from: "alice") == nil)
    }
}
