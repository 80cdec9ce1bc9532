import Testing

@testable import Mixing

@Suite("Layout files") struct LayoutDecoderTests {
    private func faults(_ text: String) -> [String] {
        do throws(LayoutFaults) {
            _ = try Layout.parse(json: Array(text.utf8), file: "x.json")
            return []
        } catch {
            return error.faults.map(\.description)
        }
    }

    private let head = "{\"name\": \"x\", \"description\": \"d\",\n"

    @Test(
        "Each fault has its place and its mend",
        arguments: [
            ("{", "x.json:1:1: an object that is never closed; add the closing }"),
            ("{\n  \"name\": \"x\",\n}", "x.json:3:1: a comma after the last entry; remove the comma"),
            ("[1]", "x.json:1:1: the layout is a list; write an object: { … }"),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\"}]}], \"bakground\": \"#000000\"}",
                "x.json:2:45: unknown key \"bakground\" in the layout; did you mean \"background\"?"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\", \"x\": 1.5}]}]}",
                "x.json:2:46: \"x\" is 1.5; use 0 to 1: it is a fraction of the canvas"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\", \"x\": 0.5, \"width\": 0.75}]}]}",
                "x.json:2:60: \"x\" + \"width\" is 1.25, outside the canvas; make \"width\" at most 0.5"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\", \"role\": \"speeker\"}]}]}",
                "x.json:2:49: \"role\" is \"speeker\"; did you mean \"speaker\"?"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\", \"names\": 1}]}]}",
                "x.json:2:50: \"names\" is the number 1; write true or false"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\"},\n{\"kind\": \"slot\"}]}]}",
                "x.json:3:1: this region overlaps the one of line 2; move it, or give the one that lies above a higher \"layer\""
            ),
            (
                "HEAD\"rules\": [{\"when\": {\"people\": [2, null]}, \"regions\": [{\"kind\": \"slot\"}]}]}",
                "x.json:2:10: no rule fits 1 person; add a last rule without \"when\""
            ),
            (
                "HEAD\"rules\": [{\"when\": {\"canvas\": \"landscape\"}, \"regions\": [{\"kind\": \"slot\"}]}]}",
                "x.json:2:10: no rule fits 1 person on a portrait canvas; add a last rule without \"when\""
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\", \"reserved\": {\"role\": \"moderater\"}}]}]}",
                "x.json:2:62: \"role\" is \"moderater\"; did you mean \"moderator\"?"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\", \"reserved\": {\"name\": \"A\", \"id\": \"b\"}}]}]}",
                "x.json:2:53: \"reserved\" must say one thing; write {\"name\": \"…\"}, {\"id\": \"…\"} or {\"role\": \"…\"}, or a list of these"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"text\", \"text\": \"{rom}\"}]}]}",
                "x.json:2:49: the placeholder \"{rom}\"; did you mean \"{room}\"?"
            ),
            (
                "HEAD\"border\": {\"radius\": 3}, \"rules\": [{\"regions\": [{\"kind\": \"slot\"}]}]}",
                "x.json:2:22: \"radius\" is 3; use 0 to 0.2: it is a fraction of the canvas"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"image\", \"file\": \"a.svg\"}]}]}",
                "x.json:2:50: the file \"a.svg\"; name a PNG or JPEG file of the same directory: letters, digits, '.', '_' and '-'"
            ),
            (
                "HEAD\"order\": \"nam\", \"rules\": [{\"regions\": [{\"kind\": \"slot\"}]}]}",
                "x.json:2:10: \"order\" is \"nam\"; did you mean \"name\"?"
            ),
            (
                "{\"name\": \"x\", \"rules\": [{\"regions\": [{\"kind\": \"slot\"}]}]}",
                "x.json:1:1: the layout has no \"description\"; add it"
            ),
            (
                "HEAD\"rules\": [{\"regions\": [{\"kind\": \"slot\"}]}], \"rules\": []}",
                "x.json:2:45: the key \"rules\" a second time; keep one of the two"
            ),
        ])
    func fault(text: String, expected: String) {
        #expect(faults(text.replacing("HEAD", with: head)) == [expected])
    }

    @Test("Random changes of a file give faults, never traps") func noise() throws {
        let good = try #require(BuiltInLayouts.files.first?.json)
        let bytes = good
        for index in bytes.indices {
            for value: UInt8 in [0, 0x22, 0x2C, 0x5B, 0x7B, 0x7D, 0x80, 0xFF] {
                var broken = bytes
                broken[index] = value
                _ = try? Layout.parse(json: broken, file: "x")
            }
            _ = try? Layout.parse(json: Array(bytes[..<index]), file: "x")
        }
        #expect(faults(String(repeating: "[", count: 100_000)).first?.contains("nested deeper") == true)
    }

    @Test("A description may be there in other languages, by their tags") func languages() throws {
        let text =
            head
            + #""description.de": "auf Deutsch", "description.pt-BR": "em português", "rules": [{"regions": [{"kind": "grid"}]}]}"#
        let layout = try Layout.parse(json: Array(text.utf8), file: "x.json")
        #expect(layout.description == "d")
        #expect(layout.descriptions == ["de": "auf Deutsch", "pt-BR": "em português"])
        for key in [
            "description.", "description.d", "description.de.at", "description.d$", "description.日本", "name.de",
        ] {
            let fault = faults(head + "\"\(key)\": \"d\", \"rules\": [{\"regions\": [{\"kind\": \"grid\"}]}]}")
            #expect(fault.count == 1 && fault.first?.contains("unknown key") == true, "\(key): \(fault)")
        }
        let number = faults(head + "\"description.de\": 1, \"rules\": [{\"regions\": [{\"kind\": \"grid\"}]}]}")
        #expect(number.first?.contains("write a text") == true)
    }

    @Test("The schema allows the keys that the decoder reads") func schema() throws {
        let root = try JSONParser.parse(try #require(LayoutLibrary.read(ShippedLayouts.path("schema"))))
        func keys(_ value: JSONValue?) -> Set<String> {
            guard case .object(let members)? = value?["properties"]?.node else { return [] }
            return Set(members.map(\.key))
        }
        #expect(keys(root) == Set(LayoutDecoder.layoutKeys))
        #expect(keys(root["properties"]?["border"]) == Set(LayoutDecoder.borderKeys))
        #expect(keys(root["properties"]?["label"]) == Set(LayoutDecoder.labelKeys))
        for (name, expected) in [
            ("rule", LayoutDecoder.ruleKeys), ("condition", LayoutDecoder.conditionKeys),
            ("slot", RegionDecoder.slotKeys), ("grid", RegionDecoder.gridKeys), ("strip", RegionDecoder.stripKeys),
            ("text", RegionDecoder.textKeys), ("image", RegionDecoder.imageKeys),
            ("reservation", RegionDecoder.reservationKeys),
        ] {
            #expect(keys(root["$defs"]?[name]) == Set(expected), "\(name)")
        }
    }
}
