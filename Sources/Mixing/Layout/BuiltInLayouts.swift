/// The files of `layouts/`, for a server that is started without that folder. A test compares the two.
enum BuiltInLayouts {
    static let files: [(name: String, json: String)] = [
        (
            "grid",
            #"""
            {
              "$schema": "./schema.json",
              "name": "grid",
              "description": "Everyone equally large. With more people than 25, those who spoke most recently.",
              "background": "#14171c",
              "gap": 0.011,
              "maxTiles": 25,
              "rules": [
                {
                  "comment": "Alone: the whole picture",
                  "when": { "people": [0, 1] },
                  "regions": [{ "kind": "slot" }]
                },
                {
                  "regions": [
                    { "kind": "grid", "x": 0.006, "y": 0.011, "width": 0.988, "height": 0.978, "columns": "auto", "aspect": ["3:2", "16:9"] }
                  ]
                }
              ]
            }

            """#
        ),
        (
            "speaker",
            #"""
            {
              "$schema": "./schema.json",
              "name": "speaker",
              "description": "The speaker (or a pinned or presenting person) large, up to five others in a row below.",
              "background": "#14171c",
              "gap": 0.011,
              "maxTiles": 6,
              "rules": [
                {
                  "when": { "people": [0, 1] },
                  "regions": [{ "kind": "slot" }]
                },
                {
                  "regions": [
                    { "kind": "slot", "role": ["pinned", "presenter", "speaker", "any"], "x": 0.11, "y": 0, "width": 0.78, "height": 0.78 },
                    { "kind": "strip", "x": 0.006, "y": 0.791, "width": 0.988, "height": 0.198, "direction": "row", "align": "center" }
                  ]
                }
              ]
            }

            """#
        ),
        (
            "presentation",
            #"""
            {
              "$schema": "./schema.json",
              "name": "presentation",
              "description": "The shared screen on three quarters of the picture and more, uncropped, people in a column beside it.",
              "background": "#14171c",
              "gap": 0.011,
              "maxTiles": 8,
              "rules": [
                {
                  "when": { "people": [0, 1] },
                  "regions": [{ "kind": "slot" }]
                },
                {
                  "comment": "87 % of the width and 87 % of the height would do for 16:9; the full height also serves 4:3 and taller screens",
                  "when": { "presenting": true },
                  "regions": [
                    { "kind": "slot", "role": "presenter", "x": 0, "y": 0, "width": 0.87, "height": 1, "fit": "contain", "names": false },
                    { "kind": "strip", "x": 0.876, "y": 0.011, "width": 0.118, "height": 0.978, "direction": "column", "align": "start" }
                  ]
                },
                {
                  "comment": "Nobody presents: the speaker takes the place of the screen",
                  "regions": [
                    { "kind": "slot", "role": ["pinned", "speaker", "any"], "x": 0, "y": 0, "width": 0.87, "height": 1 },
                    { "kind": "strip", "x": 0.876, "y": 0.011, "width": 0.118, "height": 0.978, "direction": "column", "align": "start" }
                  ]
                }
              ]
            }

            """#
        ),
        (
            "sidebar",
            #"""
            {
              "$schema": "./schema.json",
              "name": "sidebar",
              "description": "The speaker (or a pinned or presenting person) large on the left, up to four others in a column on the right.",
              "background": "#14171c",
              "gap": 0.011,
              "maxTiles": 5,
              "rules": [
                {
                  "when": { "people": [0, 1] },
                  "regions": [{ "kind": "slot" }]
                },
                {
                  "regions": [
                    { "kind": "slot", "role": ["pinned", "presenter", "speaker", "any"], "x": 0.006, "y": 0.12, "width": 0.746, "height": 0.76 },
                    { "kind": "strip", "x": 0.758, "y": 0.011, "width": 0.236, "height": 0.978, "direction": "column", "align": "center" }
                  ]
                }
              ]
            }

            """#
        ),
        (
            "filmstrip",
            #"""
            {
              "$schema": "./schema.json",
              "name": "filmstrip",
              "description": "A row of up to seven people above, the speaker (or a pinned or presenting person) large below.",
              "background": "#14171c",
              "gap": 0.011,
              "maxTiles": 8,
              "rules": [
                {
                  "when": { "people": [0, 1] },
                  "regions": [{ "kind": "slot" }]
                },
                {
                  "regions": [
                    { "kind": "slot", "role": ["pinned", "presenter", "speaker", "any"], "x": 0.081, "y": 0.162, "width": 0.838, "height": 0.838 },
                    { "kind": "strip", "x": 0.006, "y": 0.011, "width": 0.988, "height": 0.14, "direction": "row", "align": "center" }
                  ]
                }
              ]
            }

            """#
        ),
        (
            "picture-in-picture",
            #"""
            {
              "$schema": "./schema.json",
              "name": "picture-in-picture",
              "description": "One person or screen on the whole picture, the next one small in the lower right corner.",
              "background": "#14171c",
              "maxTiles": 2,
              "rules": [
                {
                  "regions": [
                    { "kind": "slot", "role": ["pinned", "presenter", "speaker", "any"] },
                    { "kind": "slot", "role": ["speaker", "any"], "x": 0.755, "y": 0.74, "width": 0.225, "height": 0.225, "layer": 1 }
                  ]
                }
              ]
            }

            """#
        ),
        (
            "single",
            #"""
            {
              "$schema": "./schema.json",
              "name": "single",
              "description": "Only the speaker (or a pinned or presenting person), on the whole picture.",
              "background": "#14171c",
              "maxTiles": 1,
              "rules": [
                {
                  "regions": [{ "kind": "slot", "role": ["pinned", "presenter", "speaker", "any"] }]
                }
              ]
            }

            """#
        ),
        (
            "side-by-side",
            #"""
            {
              "$schema": "./schema.json",
              "name": "side-by-side",
              "description": "Two people of the same size beside each other: an interview. More people: those who spoke most recently.",
              "background": "#14171c",
              "gap": 0.011,
              "maxTiles": 2,
              "rules": [
                {
                  "when": { "people": [0, 1] },
                  "regions": [{ "kind": "slot" }]
                },
                {
                  "regions": [
                    { "kind": "grid", "x": 0.006, "y": 0.011, "width": 0.988, "height": 0.978, "columns": 2, "aspect": ["4:3", "16:9"], "maxTiles": 2, "fit": "cover" }
                  ]
                }
              ]
            }

            """#
        ),
    ]
}
