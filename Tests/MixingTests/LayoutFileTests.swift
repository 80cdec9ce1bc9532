import Dispatch
import Glibc
import TestSupport
import Testing

@testable import Mixing

@Suite("Layout files") struct LayoutFileTests {
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
        let bytes = Array(good.utf8)
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

    private var directory: String {
        let parts = #filePath.split(separator: "/").dropLast(3)
        return "/" + parts.joined(separator: "/") + "/layouts"
    }

    @Test("The built-in layouts are the shipped files", arguments: LayoutLibrary.builtInNames) func builtIn(
        name: String
    ) throws {
        let bytes = try #require(LayoutLibrary.read("\(directory)/\(name).json"))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text == BuiltInLayouts.files.first { $0.name == name }.map { $0.json })
        let layout = try Layout.parse(json: bytes, file: name)
        #expect(layout.name == name)
        #expect(LayoutLibrary.builtIn[name] != nil)
    }

    @Test("The schema allows the keys that the decoder reads") func schema() throws {
        let root = try JSONParser.parse(try #require(LayoutLibrary.read("\(directory)/schema.json")))
        func keys(_ value: JSONValue?) -> Set<String> {
            guard case .object(let members)? = value?["properties"]?.node else { return [] }
            return Set(members.map(\.key))
        }
        #expect(keys(root) == Set(LayoutDecoder.layoutKeys))
        for (name, expected) in [
            ("rule", LayoutDecoder.ruleKeys), ("condition", LayoutDecoder.conditionKeys),
            ("slot", LayoutDecoder.slotKeys),
            ("grid", LayoutDecoder.gridKeys), ("strip", LayoutDecoder.stripKeys),
        ] {
            #expect(keys(root["$defs"]?[name]) == Set(expected), "\(name)")
        }
    }

    @Test("A library loads files, keeps the last valid one, and falls back to the built-in") func library() throws {
        let directory = ScratchDirectory(isMade: false)
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path
        let library = LayoutLibrary(directory: path)
        #expect(
            library.poll().changed.isEmpty,
            "a directory that is not there is like an empty one, and is made for what is put")
        let json = "{\"name\": \"mine\", \"description\": \"d\", \"rules\": [{\"regions\": [{\"kind\": \"grid\"}]}]}"
        _ = try library.put(name: "mine", json: Array(json.utf8))
        #expect(library["mine"] != nil)
        let opened: UnsafeMutablePointer<FILE>? = fopen("\(path)/mine.json", "wb")
        let file = try #require(opened)
        fputs("{ \"name\": ", file)
        fclose(file)
        let change = library.poll()
        #expect(change.faults.count == 1)
        #expect(library["mine"] != nil)
        #expect(library.poll().faults.isEmpty)
        try library.delete(name: "mine")
        #expect(library["mine"] == nil)
        #expect(throws: LayoutLibrary.StoreError.self) { try library.delete(name: "grid") }
        #expect(throws: LayoutLibrary.StoreError.self) { _ = try library.put(name: "../up", json: Array(json.utf8)) }
    }

    @Test("A lookup of a layout never waits for the disk") func slowDisk() async throws {
        let directory = ScratchDirectory()
        defer { withExtendedLifetime(directory) {} }
        let file = try #require(fopen(directory.file("grid.json"), "wb"))
        fputs("{}", file)
        fclose(file)
        let (began, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let library = LayoutLibrary(directory: directory.path) { _ in
            began.signal()
            // The read ends after a while, so that a library that waits for it fails instead of hanging.
            _ = goOn.wait(timeout: .now() + 5)
            return nil
        }
        async let polled = Task.detached { library.poll() }.value
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async {
                began.wait()
                done.resume()
            }
        }
        let asked = ContinuousClock.now
        #expect(library["grid"] != nil && !library.all.isEmpty)
        #expect(ContinuousClock.now - asked < .seconds(4))
        goOn.signal()
        #expect(await polled.faults.count == 1)
    }
}
